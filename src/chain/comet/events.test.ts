import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import { runs } from "../../../test/support/runs.ts";
import { person } from "../../../test/support/stages/market-stage.ts";
import { typedEvent } from "../../box/chain/events.ts";
import { formatDecCoin } from "../../market/coin.ts";
import { decimalFromAtto, formatDecimal } from "../../market/decimal.ts";
import { formatBidId, formatOrderId } from "../../market/ids.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { readBlock, readBlockContent, readBlockResults } from "./blocks.ts";
import { type AbciEvent, readEvent, showBlock } from "./events.ts";

const [owner, provider] = [person(1), person(11)];
const bidId = { owner, dseq: 7n, gseq: 1, oseq: 1, provider, bseq: 0 };

interface RecordedBlock {
  readonly block: unknown;
  readonly block_results: unknown;
}

function recorded(height: number) {
  const { block, block_results } = readJsonRecording<RecordedBlock>(`chain/blocks/${height}.json`);
  const content = readBlockContent("node", BigInt(height), "lab-1", block);
  return readBlock(readBlockResults("node", BigInt(height), block_results), content, realClock);
}

test("every recorded block holds the events that the index says, and none that cannot be read", async () => {
  const index = readJsonRecording<Record<string, number>>("chain/events-index.json");
  for (const [entry, height] of Object.entries(index)) {
    const [from = "", type = ""] = entry.split(":");
    const { events, malformed, otherEvents } = await recorded(height);
    assert.deepEqual(malformed, [], entry);
    assert.ok(otherEvents > 0, entry);
    const kinds = events.map(({ source, event }) => `${typeof source === "number" ? "tx" : "block"} ${event.kind}`);
    const kind = type.slice(type.lastIndexOf(".Event") + ".Event".length);
    if (from === "fail" || type.startsWith("akash.epochs")) assert.ok(!kinds.includes(`${from} ${kind}`), entry);
    else assert.ok(kinds.includes(`${from} ${kind}`), `${entry} in ${kinds}`);
  }
});

test("a recorded close of a deployment yields events of group, order, bid and lease, in the chain's order", async () => {
  const { events } = await recorded(413);
  assert.deepEqual(
    events.map(({ event }) => event.kind),
    ["DeploymentClosed", "GroupClosed", "OrderClosed", "BidClosed", "LeaseClosed"],
  );
  const [last] = events.slice(-1);
  assert.equal(last?.event.kind === "LeaseClosed" && last.event.reason, "insufficient_funds");
});

test("a recorded transaction that failed and paid is known by its hash, with its gas and the coins it cost", async () => {
  const { txs, events } = await recorded(321);
  const hash = "C71F04A847D75BD051514455BC3AED7B5E8782FF9A1BED8D944D27DD0F8A6D67";
  assert.deepEqual(
    txs.map((tx) => [tx.hash, tx.code, tx.codespace, tx.gasWanted, tx.gasUsed]),
    [[hash, 12, "market", 500_000n, 49_186n]],
  );
  assert.match(txs[0]?.log ?? "", /./);
  assert.ok(txs[0]?.events.some(({ type }) => type === "coin_spent"));
  assert.deepEqual(events, []);
});

test("recorded events read well in one line", async () => {
  const [owner, provider] = [
    "akash1hqtvxf7m74dee4julve4u9y8xge609ppe9ujjy",
    "akash14qwqwt3y8x7yas7c9el6jw6grpuwhk042prk04",
  ];
  assert.deepEqual(
    [...showBlock(await recorded(337)), ...showBlock(await recorded(339))],
    [
      `337 2026-11-15T08:22:38.102Z tx 0  deployment created      ${owner}/1794730957394  manifest 2cc9e6c2bcd1da48`,
      `337 2026-11-15T08:22:38.102Z tx 0  order created           ${owner}/1794730957394/1/1`,
      `339 2026-11-15T08:22:40.126Z tx 0  lease created           ${owner}/1794730957394/1/1/${provider}  25.1605uact a block`,
    ],
  );
});

test("ids and prices of any size survive the chain's own writing of them", () => {
  const number32 = fc.integer({ min: 1, max: 2 ** 32 - 1 });
  const cases = fc.record({
    dseq: fc.bigInt(1n, 2n ** 64n - 1n),
    gseq: number32,
    oseq: number32,
    atto: fc.bigInt(0n, 2n ** 200n),
  });
  fc.assert(
    fc.property(cases, ({ atto, ...numbers }) => {
      const id = { ...bidId, ...numbers };
      const amount = decimalFromAtto(atto);
      const price = { denom: "uact", amount: formatDecimal(amount) };
      const event = readEvent(typedEvent("akash.market.v1.EventBidCreated", { id, price }));
      assert.ok(event?.kind === "BidCreated");
      assert.deepEqual(event.id, id);
      assert.equal(formatDecCoin(event.price), `${formatDecimal(amount)}uact`);
    }),
    { numRuns: runs(200, 20_000) },
  );
});

test("an event of a later version of its package is read, an unknown one is ignored", () => {
  const id = { owner, dseq: 7n, gseq: 1, oseq: 1 };
  const later = readEvent(typedEvent("akash.market.v9beta1.EventOrderCreated", { id, more: "news" }));
  assert.ok(later?.kind === "OrderCreated");
  assert.equal(formatOrderId(later.id), formatOrderId(id));
  const unknown = ["akash.market.v1.EventOrderForgotten", "akash.constructor.v1.EventX", "transfer", "akash.market"];
  for (const type of unknown) assert.equal(readEvent({ type, attributes: [] }), undefined, type);
});

test("a started reclamation carries its reason and its deadline", () => {
  const fields = { id: bidId, reason: "lease_closed_reason_decommission", deadline: 1_800_000_000n };
  const event = readEvent(typedEvent("akash.market.v1.EventLeaseReclaimStarted", fields));
  assert.ok(event?.kind === "LeaseReclaimStarted");
  assert.deepEqual(
    [formatBidId(event.id), event.reason, event.deadline],
    [formatBidId(bidId), "decommission", 1_800_000_000n],
  );
});

test("malformed events → each is reported, and the others of the block are read", async () => {
  const good = typedEvent("akash.market.v1.EventBidClosed", { id: bidId });
  const bad: AbciEvent[] = [
    { type: "akash.market.v1.EventBidClosed", attributes: [] },
    { type: "akash.market.v1.EventBidClosed", attributes: null },
    { type: "akash.market.v1.EventBidClosed", attributes: [{ key: "id", value: "{" }] },
    typedEvent("akash.market.v1.EventBidClosed", { id: { ...bidId, dseq: "-7" } }),
    typedEvent("akash.market.v1.EventBidClosed", { id: { ...bidId, gseq: 1.5 } }),
    typedEvent("akash.market.v1.EventBidClosed", { id: { ...bidId, provider: "akash1nobody" } }),
    typedEvent("akash.market.v1.EventBidCreated", { id: bidId, price: { denom: "uact", amount: "NaN" } }),
  ];
  const events = [...bad, good].map((event) => ({ source: 0, event }));
  const block = await readBlock(
    { height: 9n, events, txs: [], coinsMovedOf: new Set() },
    { timeNs: 0n, txs: [] },
    realClock,
  );
  assert.equal(block.events.length, 1);
  assert.equal(block.malformed.length, bad.length);
  for (const error of block.malformed) assert.match(error.message, /block 9 cannot be read/);
});

test("no text that stands in an event makes reading fail in another way", () => {
  const field = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constant(JSON.stringify(bidId, (_, v) => (typeof v === "bigint" ? `${v}` : v))),
  );
  const names = ["id", "price", "hash", "reason", "deadline", "owner", "auditor"];
  const types = [
    "deployment.v1.EventDeploymentCreated",
    "market.v1.EventLeaseReclaimStarted",
    "audit.v1.EventTrustedAuditorCreated",
    "market.v1.EventBidCreated",
  ];
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.array(fc.tuple(fc.constantFrom(...names), field)), (type, fields) => {
      const attributes = fields.map(([key, value]) => ({ key, value }));
      try {
        readEvent({ type: `akash.${type}`, attributes });
      } catch (thrown) {
        assert.ok(thrown instanceof ProviderError, String(thrown));
      }
    }),
    { numRuns: runs(500, 30_000) },
  );
});

test("events of a block come as they took effect: its beginning, its transactions, its end; nothing of what failed", async () => {
  const order = (dseq: number, mode?: string) => {
    const { type, attributes } = typedEvent("akash.market.v1.EventOrderCreated", {
      id: { owner, dseq: BigInt(dseq), gseq: 1, oseq: 1 },
    });
    return { type, attributes: mode ? [...attributes, { key: "mode", value: mode, index: true }] : attributes };
  };
  const result = {
    height: "5",
    txs_results: [
      { code: 0, events: [order(2)] },
      { code: 11, events: [order(99)] },
      { code: 0, events: [order(3)] },
    ],
    finalize_block_events: [order(4, "EndBlock"), order(1, "BeginBlock")],
  };
  const { events } = await readBlock(
    readBlockResults("node", 5n, result),
    { timeNs: 0n, txs: ["", "", ""] },
    realClock,
  );
  assert.deepEqual(
    events.map(({ source, event }) => [source, event.kind === "OrderCreated" && event.id.dseq]),
    [
      ["begin", 1n],
      [0, 2n],
      [2, 3n],
      ["end", 4n],
    ],
  );
});

test("results of another height or shape are no results", () => {
  const strange = [null, {}, { height: "6" }, { height: "5", txs_results: {} }, { height: "5", txs_results: [null] }];
  for (const result of strange) {
    assert.throws(
      () => readBlockResults("node", 5n, result),
      (thrown) => ProviderError.is(thrown, "AKP_CHAIN_ANSWER_MALFORMED"),
      JSON.stringify(result),
    );
  }
});
