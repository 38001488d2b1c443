import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFolder } from "../../../test/support/folder.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { provider } from "../../../test/support/stages/declaration-stage.ts";
import { shop } from "../../../test/support/stages/lease-keeper-stage.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { intentOf } from "../../chain/outbox/intent.ts";
import type { Lease } from "../../chain/records.ts";
import { openJournal } from "../../journal/open.ts";
import { addressOf } from "../../market/address.ts";
import { parseDecCoin } from "../../market/coin.ts";
import { formatLeaseId, formatOrderId } from "../../market/ids.ts";
import { silentLog } from "../../runtime/log.ts";
import { type ClosingDeps, closeLease, reclaimLease } from "./lease-closing.ts";

const id = { owner: addressOf(new Uint8Array(20).fill(1)), dseq: 1n, gseq: 1, oseq: 1, provider, bseq: 0 };
const key = formatLeaseId(id);
const running = { id, state: "active", price: parseDecCoin("12.5uact"), closedOn: 0n } as Lease;
const never = new AbortController().signal;

/** A lease as the chain has it, with the shop's manifest in the journal. */
async function open(owner: Owner, lease: Partial<Lease> | undefined) {
  const { journal } = await openJournal({ dir: memoryFolder(owner), clock: createVirtualClock(), log: silentLog });
  owner.after(() => journal.close());
  const body = JSON.stringify(shop().manifest);
  await journal.durable("test", ({ manifests }) => manifests.put({ leaseId: key, version: "v1", body }));
  const chain = {
    provider,
    mirror: { height: 10n, timeNs: 1_000_000_000n },
    queries: { lease: async () => ({ value: lease && { ...running, ...lease }, height: 12n, node: "test" }) },
    outbox: {
      intentOf: (request: never) => intentOf(request, { chainId: "c", sender: provider }),
      wake: () => undefined,
    },
  } as unknown as ClosingDeps["chain"];
  const deps = { chain, journal, hostsOf: () => ["shop.example.com"], log: silentLog };
  const close = (text: string, dryRun = false) => closeLease({ id: text, reason: "decommission", dryRun }, deps, never);
  const reclaim = (dryRun = false) => reclaimLease({ id: key, reason: "decommission", dryRun }, deps, never);
  return { close, reclaim, sent: () => journal.read.intents.about(key).map(({ what }) => what) };
}

test("a close shows what is lost, in a dry run too: income, services, names and data", async (t) => {
  const { close, sent } = await open(t, {});
  const { loses, ...about } = await close(key, true);
  assert.deepEqual(about, { lease: key, message: "closeBid", reason: "decommission", dryRun: true, underWay: false });
  assert.deepEqual(
    [loses.price, loses.hosts, loses.services, loses.volumes],
    [
      "12.5uact",
      ["shop.example.com"],
      [
        { name: "page", count: 1 },
        { name: "store", count: 1 },
      ],
      [{ service: "store", name: "data", bytes: "1073741824" }],
    ],
  );
  assert.deepEqual(sent(), []);
  assert.deepEqual((await close(formatOrderId(id))).loses, loses);
  assert.deepEqual(sent(), ["closeBid"]);
});

test("of several who close it at once one does", async (t) => {
  const { close, sent } = await open(t, {});
  const closings = await Promise.all([close(key), close(key), close(key)]);
  assert.deepEqual(closings.map(({ underWay }) => underWay).sort(), [false, true, true]);
  assert.deepEqual([sent(), (await close(key, true)).underWay], [["closeBid"], true]);
});

test("a lease with a reclamation window is announced, and closed when the window has passed", async (t) => {
  const reclamation = { windowNs: 60n, startedAt: 0n, deadline: 0n, reason: 0 };
  const fresh = await open(t, { reclamation });
  assert.equal((await fresh.close(key)).message, "startReclaim");
  const waits = await open(t, { state: "reclaiming", reclamation: { ...reclamation, deadline: 61n } });
  await assert.rejects(waits.close(key), { code: "AKP_LEASE_RECLAIMED_LATER", message: /from 1970-01-01T00:01:01/ });
  const over = await open(t, { state: "reclaiming", reclamation: { ...reclamation, deadline: 1n } });
  assert.equal((await over.close(key)).message, "closeBid");
});

test("only a lease with such an agreement is reclaimed, and only once", async (t) => {
  const reclamation = { windowNs: 60_000_000_000n, startedAt: 0n, deadline: 0n, reason: 0 };
  const fresh = await open(t, { reclamation });
  const tried = await fresh.reclaim(true);
  assert.deepEqual([tried.message, tried.closesAtMs, fresh.sent()], ["startReclaim", 61_000, []]);
  assert.deepEqual([(await fresh.reclaim()).underWay, (await fresh.reclaim()).underWay], [false, true]);
  assert.deepEqual(fresh.sent(), ["startReclaim"]);
  const without = await open(t, {});
  await assert.rejects(without.reclaim(), { code: "AKP_LEASE_NOT_RECLAIMABLE", advice: /lease close/ });
  for (const deadline of [1n, 61n]) {
    const begun = await open(t, { state: "reclaiming", reclamation: { ...reclamation, deadline } });
    await assert.rejects(begun.reclaim(), { code: "AKP_LEASE_RECLAIMED_LATER" });
    assert.deepEqual(begun.sent(), [], "the reclaimer closes it, when its time has passed");
  }
});

test("a lease that is not ours, unknown or over is rejected, and nothing is sent", async (t) => {
  const closed = await open(t, { state: "insufficient_funds", closedOn: 9n });
  await assert.rejects(closed.close(key), { code: "AKP_LEASE_OVER", message: /insufficient_funds since height 9/ });
  const none = await open(t, undefined);
  await assert.rejects(none.close(key), { code: "AKP_LEASE_UNKNOWN", message: /at height 12/ });
  await assert.rejects(none.close(key.replace(provider, id.owner)), { code: "AKP_LEASE_NOT_OURS" });
  assert.deepEqual([...closed.sent(), ...none.sent()], []);
});
