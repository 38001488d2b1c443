import assert from "node:assert/strict";
import { test } from "node:test";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import type { AbciEvent } from "./abci.ts";
import { typedEvent } from "./events.ts";

test("a typed event has its fields sorted by name, each as JSON", () => {
  const event = typedEvent("akash.test.v1.Event", {
    id: { dseq: 18_446_744_073_709_551_615n, gseq: 1 },
    hash: Uint8Array.of(1, 2, 3),
    names: ["a", "b"],
    amount: 7n,
    none: null,
  });
  assert.equal(event.type, "akash.test.v1.Event");
  assert.deepEqual(
    event.attributes.map(({ key, value }) => `${key}=${value}`),
    ['amount="7"', 'hash="AQID"', 'id={"dseq":"18446744073709551615","gseq":1}', 'names=["a","b"]', "none=null"],
  );
  assert.ok(event.attributes.every(({ index }) => index));
});

test("typed events of real blocks are written the same way", () => {
  const bid = {
    owner: "akash1hqtvxf7m74dee4julve4u9y8xge609ppe9ujjy",
    dseq: 1_794_730_957_394n,
    gseq: 1,
    oseq: 1,
    provider: "akash14qwqwt3y8x7yas7c9el6jw6grpuwhk042prk04",
    bseq: 0,
  };
  const price = { denom: "uact", amount: "25.160500000000000000" };
  const { owner, dseq } = bid;
  const hash = Buffer.from("LMnmwrzR2kjEdVycIY95FgZlBRc7KaCeqSqbFn5UsNw=", "base64");
  for (const [height, event] of [
    [338, typedEvent("akash.market.v1.EventBidCreated", { id: bid, price })],
    [337, typedEvent("akash.deployment.v1.EventDeploymentCreated", { id: { owner, dseq }, hash })],
  ] as const) {
    const { attributes } = recordedEvent(height, event.type);
    assert.deepEqual(
      event.attributes,
      attributes.filter(({ key }) => key !== "msg_index"),
    );
  }
});

function recordedEvent(height: number, type: string): AbciEvent {
  const path = `chain/blocks/${height}.json`;
  const recorded = readJsonRecording<{ block_results: { txs_results: { events: AbciEvent[] }[] } }>(path);
  const event = recorded.block_results.txs_results.flatMap(({ events }) => events).find((each) => each.type === type);
  assert.ok(event, `${type} in block ${height}`);
  return event;
}
