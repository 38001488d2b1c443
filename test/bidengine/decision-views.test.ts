/** `why` of an order, `screen` of its group and the decision function report the same failed checks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, screen } from "../../src/bidengine/decision/decide.ts";
import { explain, failedChecks } from "../../src/bidengine/decision/decision.ts";
import { readDecision, recordDecision } from "../../src/bidengine/decision/record.ts";
import { readOrderReports } from "../../src/bidengine/order-report.ts";
import { openJournal } from "../../src/journal/open.ts";
import { parseAddress } from "../../src/market/address.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { formatOrderId, type OrderId } from "../../src/market/ids.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { memoryFolder } from "../support/folder.ts";
import { auditor } from "../support/samples/decision-samples.ts";
import { cheap, failingOrders } from "../support/samples/failing-orders.ts";
import { groupOfCpus, onBidStage, smallGroup } from "../support/stages/bid-stage.ts";

const { signal } = new AbortController();

test("every failing check → the journal records what screening returned", async (t) => {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: realClock, log: silentLog });
  t.after(() => journal.close());
  let dseq = 0n;
  for (const [name, { inputs, pricing = cheap }] of Object.entries(failingOrders)) {
    const { owner, group, reclamationWindowNs } = inputs.request;
    dseq += 1n;
    const id: OrderId = { owner: parseAddress(owner), dseq, gseq: 1, oseq: 1 };
    const order = { id, state: "open", spec: group, createdAt: 1n, reclamationWindowNs } as const;
    const decision = await decide(inputs, pricing, signal);
    await journal.durable("test", (tables) => recordDecision(tables, order, decision));
    const [answer] = readOrderReports(journal.read, formatOrderId(id));
    const recorded = explain(readDecision(answer?.decisions[0]));
    assert.deepEqual(recorded, explain(decision), name);
    assert.match(answer?.reason ?? "", new RegExp(`^${name}: `));
    // The number of bids is unknown before the order exists.
    if (name === "bidsLeft") continue;
    const screened = await screen(inputs.request, inputs.context, pricing, signal);
    assert.deepEqual(recorded, explain(screened), name);
  }
});

const [unit] = smallGroup.units;
assert.ok(unit);
const unitWith = (change: Partial<typeof unit>): GroupSpec => ({ ...smallGroup, units: [{ ...unit, ...change }] });
const requiring = (change: Partial<GroupSpec["requirements"]>): GroupSpec => ({
  ...smallGroup,
  requirements: { ...smallGroup.requirements, ...change },
});

/** What a tenant can write onto a real chain. */
const onChain: Readonly<Record<string, GroupSpec>> = {
  groupIsWellFormed: requiring({ attributes: Array.from({ length: 101 }, (_, at) => ({ key: `a${at}`, value: "1" })) }),
  attributesMatch: requiring({ attributes: [{ key: "region", value: "moon" }] }),
  auditorsMatch: requiring({ anyOf: [auditor] }),
  // Memory as a volume takes memory, which there is, but is published as a kind of volume.
  capabilitiesMatch: unitWith({
    storage: [
      ...unit.storage,
      {
        name: "shm",
        bytes: 2n ** 25n,
        attributes: [
          { key: "class", value: "ram" },
          { key: "persistent", value: "false" },
        ],
      },
    ],
  }),
  volumesWithinLimit: unitWith({
    storage: Array.from({ length: 5 }, (_, at) => ({ name: `v${at}`, bytes: 2n ** 27n, attributes: [] })),
  }),
  placementExists: groupOfCpus(11_000n),
};

test("an order with thousands of attributes is a short no in the journal, and others are bid on beside it", async (t) => {
  await onBidStage(t, async (stage) => {
    const { engine, journal } = await stage.provider("one");
    const attributes = Array.from({ length: 3_000 }, (_, at) => ({ key: `${"a*".repeat(20)}${at}`, value: "true" }));
    const absurd = formatOrderId(await stage.post(1n, requiring({ attributes })));
    const plain = formatOrderId(await stage.post(2n));
    await stage.until("a bid", () => engine.why(plain)[0]?.outcome === "bid");
    assert.match(engine.why(absurd)[0]?.reason ?? "", /^groupIsWellFormed: .*it has 3000 attributes/);
    assert.ok(JSON.stringify(journal.read.decisions.about(absurd, 1)).length < 10_000);
  });
});

test("orders on a chain → `why` and `screen` agree, and the bid has the screened price", async (t) => {
  await onBidStage(t, async (stage) => {
    const { engine } = await stage.provider("one");
    let owner = "";
    let dseq = 0n;
    for (const [name, group] of Object.entries(onChain)) {
      dseq += 1n;
      const order = formatOrderId(await stage.post(dseq, group));
      await stage.until(`a decision on ${name}`, () => engine.why(order)[0]?.decisions.length === 1);
      const recorded = readDecision(engine.why(order)[0]?.decisions[0]);
      [owner = ""] = order.split("/");
      const screened = await engine.screen({ owner, group, reclamationWindowNs: undefined }, signal);
      assert.deepEqual(
        failedChecks(recorded).map((check) => check.name),
        [name],
      );
      assert.deepEqual(failedChecks(screened), failedChecks(recorded));
    }
    const screened = await engine.screen({ owner, group: smallGroup, reclamationWindowNs: undefined }, signal);
    const order = formatOrderId(await stage.post(99n));
    await stage.until("a bid", () => engine.why(order)[0]?.outcome === "bid");
    const [answer] = engine.why(order);
    assert.equal(explain(screened)[0], "bid at 10uact per block");
    assert.equal(explain(readDecision(answer?.decisions[0]))[0], "bid at 10uact per block");
    assert.equal(answer?.price, "10uact");
  });
});
