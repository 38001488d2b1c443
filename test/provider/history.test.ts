import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { moduleAddress } from "../../src/box/chain/modules/auth/accounts.ts";
import type { SettledResult } from "../../src/chain/chain.ts";
import { kinds, resourceOf } from "../../src/kube/kinds.ts";
import type { Address } from "../../src/market/address.ts";
import { type Coin, parseCoins, sumCoins } from "../../src/market/coin.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { opensJournal } from "../support/boundary-kinds.ts";
import type { Snapshot } from "../support/cluster-snapshot.ts";
import { playCrashes } from "../support/crash-points.ts";
import { playCase } from "../support/failed-cases.ts";
import { memoryFolder } from "../support/folder.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { counts, seeds } from "../support/thorough.ts";
import { type History, playHistory } from "./history.ts";

test("a lease goes from manifest to pods, update and close as if nothing had happened, wherever the provider crashes", async (t) => {
  const folder = memoryFolder(t);
  await playCrashes(t, "history", {
    seeds: seeds(counts(1, 1, 20)),
    // Those at which only the height is written down are most of them.
    sample: { every: 4, about: /^(kube|journal (?!cursor|close)).*after$/ },
    whole: (seed) => playWhole(seed, join(folder, `${seed}`)),
    async crash({ seed, crashAt }, whole) {
      const dir = join(folder, `${seed}-${crashAt}`);
      await playHistory({ seed, crashAt, dir }, async (history) => {
        assert.ok(history.crashed);
        await checkEnd(history);
        assert.deepEqual(history.scenes, whole.scenes);
      });
      rmSync(dir, { recursive: true });
    },
  });
});

test("an order goes to its end wherever the provider crashes on the way", async (t) => {
  const folder = memoryFolder(t);
  const random = createSeededRandom(1);
  const { crossings } = await playWhole(1, join(folder, "whole"));
  const opened = crossings.findLastIndex(opensJournal) + 1;
  for (const seed of seeds(counts(2, 60, 300))) {
    // The last two are of a journal that is closed, when all is over.
    const crashAt = opened + 1 + random.int(crossings.length - opened - 2);
    const dir = join(folder, `${seed}`);
    await playCase("history", { seed, crashAt }, `crash near ${crossings[crashAt - 1]}`, () =>
      playHistory({ seed, crashAt, dir }, checkEnd),
    );
    rmSync(dir, { recursive: true });
  }
});

/** A history that nobody interrupts. */
async function playWhole(seed: number, dir: string): Promise<Pick<History, "crossings" | "scenes">> {
  let whole: Pick<History, "crossings" | "scenes"> | undefined;
  await playHistory({ seed, crashAt: 0, dir }, async (history) => {
    await checkEnd(history);
    whole = { crossings: history.crossings, scenes: history.scenes };
  });
  assert.ok(whole);
  return whole;
}

/** As if nothing had happened: one bid, one lease, nothing left, and every coin where it belongs. */
async function checkEnd(history: History): Promise<void> {
  const { queries, lease, provider, tenant, intents, blocks, scenes } = history;
  const { owner } = lease;
  const bids = (await queries.bids({ owner })).items;
  assert.deepEqual(
    bids.map(({ id, state }) => ({ id, state })),
    [{ id: lease, state: "closed" }],
  );
  const leases = (await queries.leases({ owner })).items;
  assert.deepEqual(
    leases.map(({ id, state }) => ({ id, state })),
    [{ id: lease, state: "closed" }],
  );
  assert.deepEqual(
    leaseKinds.filter((kind) => !has(scenes.deployed, lease, kind)),
    [],
    "every kind of object was there",
  );
  assert.deepEqual(
    ["secrets", "roles.rbac.authorization.k8s.io"].filter((kind) => has(scenes.updated, lease, kind)),
    [],
    "the update took away what it no longer wants",
  );
  assert.equal(history.storePods, 1, "the update left the other service alone");
  assert.deepEqual(scenes.closed, scenes.before, "nothing is left of it");
  const { reservations, manifests, deadlines } = history.journal;
  assert.deepEqual({ reservations, manifests, deadlines }, { reservations: [], manifests: [], deadlines: 0 });
  assert.deepEqual(
    intents.map(({ what, state }) => `${what} ${state}`),
    ["createBid done"],
  );

  const paid = feesOf(blocks);
  const balance = async (address: Address, denom: string) => amountOf((await queries.balances(address)).items, denom);
  for (const { address } of [provider, tenant]) {
    // The deposit of the bid is home again: fees are all that is missing.
    const start = amountOf(history.purses[address] ?? [], "uakt");
    assert.equal(await balance(address, "uakt"), start - (paid.get(address) ?? 0n));
  }
  const billed = sumCoins(intents.flatMap(({ result }) => parseCoins((result as SettledResult).fee ?? "")));
  assert.deepEqual(billed, [{ denom: "uakt", amount: paid.get(provider.address) }], "the journal knows every fee");
  const more = async (address: Address) =>
    (await balance(address, "uact")) - amountOf(history.purses[address] ?? [], "uact");
  const earned = await more(provider.address);
  assert.ok(earned > 0n, "the lease was paid for");
  assert.equal(await more(tenant.address), -earned);
  for (const denom of ["uact", "uakt"]) assert.equal(await balance(moduleAddress("escrow"), denom), 0n);
}

/** What a lease is made of. */
const leaseKinds = [
  ...["deployments.apps", "statefulsets.apps", "services", "persistentvolumeclaims", "pods", "secrets"],
  ...["serviceaccounts", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"],
  ...["networkpolicies.networking.k8s.io"],
  ...[kinds.manifest, kinds.providerHost, kinds.providerLeasedIp].map(resourceOf),
];

/** Custom resources live in one namespace for all leases, and there is only this one. */
function has(scene: Snapshot, lease: LeaseId, kind: string): boolean {
  return [leaseNamespace(lease), "lease"].some((namespace) =>
    Object.keys(scene).some((key) => key.startsWith(`${kind} ${namespace}/`)),
  );
}

function amountOf(coins: readonly Coin[], denom: string): bigint {
  return coins.find((coin) => coin.denom === denom)?.amount ?? 0n;
}

/** What each account paid for transactions, from the events of the blocks. */
function feesOf(blocks: History["blocks"]): Map<string, bigint> {
  const paid = new Map<string, bigint>();
  for (const { events } of blocks.flatMap(({ output }) => output.txResults)) {
    for (const { type, attributes } of events) {
      const value = (key: string) => attributes.find((attribute) => attribute.key === key)?.value;
      const [payer, fee] = [value("fee_payer"), value("fee")];
      if (type !== "tx" || payer === undefined || fee === undefined) continue;
      paid.set(payer, (paid.get(payer) ?? 0n) + BigInt(fee.replace("uakt", "")));
    }
  }
  return paid;
}
