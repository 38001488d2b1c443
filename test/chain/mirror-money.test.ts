/** The figures in the mirror: what our account holds, what escrow holds, and of when all of it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rpcMirrorLagBlocks } from "../../src/chain/comet/mirror/mirror.ts";
import { amountOf } from "../../src/market/coin.ts";
import { eventually } from "../support/eventually.ts";
import { memoryFolder } from "../support/folder.ts";
import { providerAddress, providerKey, startMarketChain, tenantAddress, tenantKey } from "../support/market-chain.ts";
import { accountDeposit, createBid, createDeployment, createLease } from "../support/market-messages.ts";
import { bid, changedKeys, deployment, upToDate, watch } from "../support/stages/mirror-stage.ts";

test("our balances follow the blocks that move our coins, and are not read again for others", async (t) => {
  const market = await startMarketChain(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  const watched = await watch(t, market);
  const { mirror, queries } = watched.chain;
  await upToDate(watched, market);
  const built = market.node.height;
  assert.deepEqual(
    [...mirror.balances()].map(({ denom, height }) => [denom, height]),
    [
      ["uact", built],
      ["uakt", built],
    ],
  );
  await market.act(tenantKey, createDeployment({ id: deployment(2n) }));
  await upToDate(watched, market);
  assert.equal(mirror.balance("uact")?.height, built, "nothing of ours moved");
  const before = mirror.balance("uakt")?.amount ?? 0n;
  await market.act(providerKey, createBid(bid(1n)));
  await upToDate(watched, market);
  const { items } = await queries.balances(providerAddress);
  for (const denom of ["uact", "uakt"]) assert.equal(mirror.balance(denom)?.amount, amountOf(items, denom));
  assert.ok((mirror.balance("uakt")?.amount ?? 0n) < before, "fee and deposit");
  assert.equal(mirror.balance("uakt")?.height, market.node.height);
  assert.ok(changedKeys(watched.steps.slice(-1)).includes("balance uakt"));
  assert.deepEqual(await watched.chain.compareMirror(), []);
});

test("escrow figures carry the height they are true of, and those that changed without an event are read by a comparison", async (t) => {
  const market = await startMarketChain(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(tenantKey, createLease(bid(1n)));
  const watched = await watch(t, market);
  const { mirror } = watched.chain;
  await upToDate(watched, market);
  const built = market.node.height;
  assert.equal(mirror.deployment(deployment(1n))?.escrow?.height, built);
  assert.equal(mirror.lease(bid(1n))?.payment?.height, built);
  await market.act(tenantKey, accountDeposit({ xid: `${tenantAddress}/1`, signer: tenantAddress }));
  await upToDate(watched, market);
  assert.equal(mirror.deployment(deployment(1n))?.escrow?.height, built, "a deposit emits no event");
  assert.deepEqual(await watched.chain.compareMirror(), []);
  assert.equal(mirror.deployment(deployment(1n))?.escrow?.height, market.node.height);
  assert.equal(mirror.lease(bid(1n))?.payment?.height, market.node.height);
  assert.equal(watched.chain.counts.mirror.drift, 0);
});

test("a caller can wait until the mirror has a height, or give up", async (t) => {
  const market = await startMarketChain(t);
  const watched = await watch(t, market);
  const { mirror } = watched.chain;
  await upToDate(watched, market);
  const stopping = new AbortController();
  await mirror.reached(market.node.height, stopping.signal);
  const far = mirror.reached(market.node.height + 1_000n, stopping.signal);
  const next = mirror.reached(market.node.height + 2n, stopping.signal).then(() => mirror.height);
  market.node.step();
  await upToDate(watched, market);
  market.node.step();
  assert.equal(await next, market.node.height);
  stopping.abort(new Error("not worth it"));
  await assert.rejects(far, /not worth it/);
});

test("the mirror's age is that of its block, built from lists or updated by blocks", async (t) => {
  const market = await startMarketChain(t);
  const watched = await watch(t, market);
  const { chain } = watched;
  for (let made = 0; made < 2; made += 1) {
    assert.equal(chain.mirror.timeNs, await chain.queries.blockTimeNs(chain.mirror.height));
    const ageMs = () => Date.now() - Number(chain.mirror.timeNs / 1_000_000n);
    const [before, reported = 0, after] = [ageMs(), chain.status.mirrorAgeMs, ageMs()];
    assert.ok(before <= reported && reported <= after, `${before}, ${reported}, ${after}`);
    market.node.step();
    await upToDate(watched, market);
  }
});

test("a long replay does not keep the mirror in the past: it is built anew when the chain has gone on", async (t) => {
  const market = await startMarketChain(t);
  const dir = memoryFolder(t);
  const before = await watch(t, market, { dir });
  await upToDate(before, market);
  await before.stop();
  const lag = Number(rpcMirrorLagBlocks);
  const heldAt = market.node.height + 20n;
  for (let made = 0; made < lag; made += 1) market.node.step();

  const held = Promise.withResolvers<undefined>();
  const mirrorHeights: bigint[] = [];
  const watched = await watch(t, market, {
    dir,
    listener({ block }) {
      if (block?.height === heldAt) return held.promise;
      if (block?.height === heldAt + 1n) mirrorHeights.push(watched.chain.mirror.height);
      return undefined;
    },
  });
  await eventually("the replay", () => watched.steps.some(({ block }) => block?.height === heldAt));
  for (let made = 0; made <= lag; made += 1) market.node.step();
  await watched.chain.pool.probe();
  held.resolve(undefined);
  await upToDate(watched, market);
  assert.deepEqual(mirrorHeights, [market.node.height], "though that block is an old one");
  assert.equal(watched.chain.counts.mirror.builds, 2);
});
