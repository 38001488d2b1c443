import assert from "node:assert/strict";
import { test } from "node:test";
import { ProviderError } from "../../runtime/errors.ts";
import type { Included } from "../tx/broadcaster.ts";
import { outboxProofBlocks } from "../tx/send.ts";
import { nextAction, outboxRebroadcastBlocks, type PendingTx } from "./pending-txs.ts";

const sent = {
  hash: "AB",
  chainId: "c-1",
  sender: "akash1a",
  bytes: new Uint8Array(),
  firstHeight: 10n,
  subjects: ["order 1"],
  accounts: [],
  costly: true,
};
const proof = BigInt(outboxProofBlocks);
const unordered = (more: Partial<PendingTx> = {}): PendingTx => ({
  ...sent,
  timeoutNs: 1_000n,
  queriedAt: 10n,
  ...more,
});
const ordered = (more: Partial<PendingTx> = {}): PendingTx => ({
  ...sent,
  sequence: 7n,
  timeoutHeight: 20n,
  queriedAt: 10n,
  ...more,
});
const at = (height: bigint, timeNs = 0n) => ({ height, timeNs });
const used = (sequence: bigint, height: bigint) => ({ number: 0n, sequence, height });
const included: Included = { height: 11n, code: 0, codespace: "", log: "", gasUsed: 1n, events: [], admitted: true };
const notAdmitted: Included = { ...included, code: 5, codespace: "sdk", log: "insufficient funds", admitted: false };

test("what a block holds is settled, also when its timeout timestamp has passed long ago", () => {
  assert.deepEqual(nextAction(unordered(), { head: at(99n, 9_999n), found: included }), { kind: "settle", included });
});

test("one that no node has heard of yet is broadcast, and again after a while", () => {
  const { queriedAt, ...fresh } = unordered();
  assert.equal(nextAction(fresh, { head: at(10n) }).kind, "broadcast");
  assert.equal(nextAction(unordered(), { head: at(11n) }).kind, "wait");
  assert.equal(nextAction(unordered(), { head: at(10n + BigInt(outboxRebroadcastBlocks)) }).kind, "broadcast");
});

test("a block whose time equals the timeout timestamp may still hold it; only a later one proves that none will", () => {
  const pendingTx = unordered();
  assert.equal(nextAction(pendingTx, { head: at(11n, 1_000n) }).kind, "wait");
  assert.equal(pendingTx.passedAt, undefined);
  assert.equal(nextAction(pendingTx, { head: at(12n, 1_001n) }).kind, "wait");
  assert.equal(pendingTx.passedAt, 12n);
});

test("it is dead when it was not found again so many blocks later, and not before", () => {
  const pendingTx = unordered();
  for (let height = 12n; height < 12n + proof; height += 1n) {
    assert.equal(nextAction(pendingTx, { head: at(height, 2_000n) }).kind, "wait");
  }
  assert.equal(nextAction(pendingTx, { head: at(12n + proof, 2_000n) }).kind, "refile");
});

test("while no node can know whether a block holds it, it is broadcast again but never given up", () => {
  const unproven = new ProviderError("AKP_TX_UNPROVEN", { hash: "AB", height: 10n, reasons: "no node has that block" });
  const pendingTx = unordered({ unproven });
  assert.equal(nextAction(pendingTx, { head: at(10n + BigInt(outboxRebroadcastBlocks)) }).kind, "broadcast");
  assert.equal(nextAction(pendingTx, { head: at(20n, 2_000n) }).kind, "wait");
  assert.equal(nextAction(pendingTx, { head: at(99n + proof, 2_000n) }).kind, "wait");
  const proven = { ...pendingTx, unproven: undefined };
  assert.equal(nextAction(proven, { head: at(100n + proof, 2_000n) }).kind, "refile");
});

test("a failure before its messages leaves it alive until its timeout timestamp has passed", () => {
  const pendingTx = unordered();
  assert.equal(nextAction(pendingTx, { head: at(11n), found: notAdmitted }).kind, "wait");
  assert.equal(nextAction(pendingTx, { head: at(12n, 1_001n), found: notAdmitted }).kind, "wait");
  assert.equal(nextAction(pendingTx, { head: at(12n + proof, 2_000n), found: notAdmitted }).kind, "refile");
});

test("an ordered one is over when its height or its sequence has passed", () => {
  const byHeight = ordered({ queriedAt: 20n });
  assert.equal(nextAction(byHeight, { head: at(20n), account: used(7n, 20n) }).kind, "wait");
  assert.equal(byHeight.passedAt, undefined, "the block at its height may hold it");
  nextAction(byHeight, { head: at(21n), account: used(7n, 21n) });
  assert.equal(nextAction(byHeight, { head: at(21n + proof), account: used(7n, 21n + proof) }).kind, "refile");
  const bySequence = ordered();
  nextAction(bySequence, { head: at(11n), account: used(8n, 11n) });
  assert.equal(nextAction(bySequence, { head: at(11n + proof), account: used(8n, 11n + proof) }).kind, "refile");
});

test("a height that was overstated when the timeout timestamp had passed does not hold the transaction until the chain is there", () => {
  const pendingTx = unordered();
  assert.equal(nextAction(pendingTx, { head: at(1_012n, 1_001n), followed: 12n }).kind, "wait");
  assert.equal(nextAction(pendingTx, { head: at(13n, 1_001n), followed: 13n }).kind, "refile");
});
