import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { moduleAddress } from "../src/box/chain/modules/auth/accounts.ts";
import type { SettledResult } from "../src/chain/chain.ts";
import { kinds, resourceOf } from "../src/kube/kinds.ts";
import type { Address } from "../src/market/address.ts";
import { type Coin, parseCoins, sumCoins } from "../src/market/coin.ts";
import type { LeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import type { Snapshot } from "./cluster-snapshot.ts";
import { memoryFolder } from "./folder.ts";
import { type History, playHistory } from "./history.ts";
import { runs } from "./runs.ts";

/**
 * Each with a crash at every boundary of its deploy, update and teardown. What a crash leaves after one write is what it
 * leaves before the next: beyond some seeds one of the two is enough, of which every other seed takes one half; the quick run
 * takes every fourth.
 */
const seeds = runs(1, 100);

test("a lease goes from manifest to pods, update and close as if nothing had happened, wherever the provider crashes", async (t) => {
  const folder = memoryFolder(t);
  let [histories, crashes] = [0, 0];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const whole = await playWhole(seed, join(folder, `${seed}`));
    const boundaries = boundariesOf(whole.crossings);
    if (seed === 1) t.diagnostic(`${boundaries.length} boundaries of deploy, update and teardown`);
    const isThorough = seed <= runs(0, 10);
    const tried = boundaries.filter(({ about }) => isThorough || about.endsWith(":after"));
    const every = isThorough ? 1 : runs(4, 2);
    for (const { at: crashAt, about } of tried.filter((_, index) => (index + seed) % every === 0)) {
      const dir = join(folder, `${seed}-${crashAt}`);
      histories += 1;
      await playHistory({ seed, crashAt, dir }, async (history) => {
        if (history.crashed) crashes += 1;
        await checkEnd(history);
        assert.deepEqual(history.scenes, whole.scenes);
      }).catch((thrown: unknown) => {
        throw new Error(`seed ${seed}, crash at ${crashAt}, about ${about}`, { cause: thrown });
      });
      rmSync(dir, { recursive: true });
    }
  }
  t.diagnostic(`${histories} histories, ${crashes} crashes`);
  assert.ok(crashes > histories * 0.9, "a history may be over a little before the boundary; most are not");
});

test("an order goes to its end wherever the provider crashes on the way", async (t) => {
  const folder = memoryFolder(t);
  const random = createSeededRandom(1);
  const { crossings } = await playWhole(1, join(folder, "whole"));
  for (let seed = 1; seed <= runs(2, 300); seed += 1) {
    // The last two are of a journal that is closed, when all is over.
    const crashAt = 1 + random.int(crossings.length - 2);
    await playHistory({ seed, crashAt, dir: join(folder, `${seed}`) }, checkEnd).catch((thrown: unknown) => {
      throw new Error(`seed ${seed}, crash at ${crashAt}, about ${crossings[crashAt - 1]}`, { cause: thrown });
    });
  }
});

/** From the first manifest on, without those at which only the height is written down, and the end itself. */
function boundariesOf(crossings: readonly string[]) {
  const from = crossings.findIndex((crossing) => crossing.includes("manifest"));
  assert.ok(from >= 0);
  return crossings
    .map((about, index) => ({ at: index + 1, about }))
    .slice(from)
    .filter(({ about }) => !about.startsWith("journal cursor commit") && !about.startsWith("journal close"));
}

/** A history that nobody interrupts. */
interface Whole extends Pick<History, "crossings" | "scenes"> {
  readonly seed: number;
}

async function playWhole(seed: number, dir: string): Promise<Whole> {
  let whole: Whole | undefined;
  await playHistory({ seed, crashAt: 0, dir }, async (history) => {
    await checkEnd(history);
    const { crossings, scenes } = history;
    whole = { seed, crossings, scenes };
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
