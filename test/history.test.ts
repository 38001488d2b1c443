import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { moduleAddress } from "../src/box/chain/modules/auth/accounts.ts";
import type { SettledResult } from "../src/chain/chain.ts";
import type { Address } from "../src/market/address.ts";
import { parseCoins, sumCoins } from "../src/market/coin.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { memoryFolder } from "./folder.ts";
import { type History, playHistory, purse } from "./history.ts";
import { runs } from "./runs.ts";

const count = runs(30, 1_000);

test("an order goes from post to close, wherever the provider crashes on the way", async (t) => {
  const folder = memoryFolder(t);
  let boundaries: readonly string[] = [];
  await playHistory({ seed: 0, crashAt: 0, dir: join(folder, "whole") }, async (history) => {
    await checkEnd(history);
    boundaries = history.crossings;
  });
  const random = createSeededRandom(1);
  let crashes = 0;
  for (let seed = 1; seed <= count; seed += 1) {
    const crashAt = 1 + random.int(boundaries.length);
    const check = async (history: History) => {
      if (history.crashed) crashes += 1;
      await checkEnd(history);
    };
    await playHistory({ seed, crashAt, dir: join(folder, `${seed}`) }, check).catch((thrown: unknown) => {
      throw new Error(`seed ${seed}, crash at ${crashAt}, about ${boundaries[crashAt - 1]}`, { cause: thrown });
    });
  }
  t.diagnostic(`${count} histories, ${crashes} crashes, at ${boundaries.length} boundaries`);
  assert.ok(crashes > count * 0.8, "a history may be over a little before the boundary; most are not");
});

/** As if nothing had happened: one bid, one lease, one workload, and every coin where it belongs. */
async function checkEnd(history: History): Promise<void> {
  const { queries, lease, provider, tenant, intents, workloads, blocks } = history;
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
  assert.equal(workloads.size, 1);
  assert.deepEqual(
    history.namespacesLeft.filter((name) => !name.startsWith("kube-") && name !== "default"),
    [],
  );
  assert.equal(history.podsLeft, 0);
  assert.deepEqual(history.reservations, [], "what the lease had is free again");
  assert.deepEqual(
    intents.map(({ state }) => state),
    ["done", "done"],
  );

  const paid = feesOf(blocks);
  const balance = async (address: Address, denom: string) =>
    (await queries.balances(address)).items.find((coin) => coin.denom === denom)?.amount ?? 0n;
  const start = (denom: string) => purse.find((coin) => coin.denom === denom)?.amount ?? 0n;
  for (const { address } of [provider, tenant]) {
    // The deposit of the bid is home again: fees are all that is missing.
    assert.equal(await balance(address, "uakt"), start("uakt") - (paid.get(address) ?? 0n));
  }
  const billed = sumCoins(intents.flatMap(({ result }) => parseCoins((result as SettledResult).fee ?? "")));
  assert.deepEqual(billed, [{ denom: "uakt", amount: paid.get(provider.address) }], "the journal knows every fee");
  const earned = (await balance(provider.address, "uact")) - start("uact");
  assert.ok(earned > 0n, "the lease was paid for");
  assert.equal(await balance(tenant.address, "uact"), start("uact") - earned);
  for (const denom of ["uact", "uakt"]) assert.equal(await balance(moduleAddress("escrow"), denom), 0n);
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
