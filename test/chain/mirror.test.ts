/** The mirror against an embedded node with the whole market. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBidId, formatOrderId } from "../../src/market/ids.ts";
import { eventually } from "../support/eventually.ts";
import { playSeeds } from "../support/failed-cases.ts";
import { memoryFolder } from "../support/folder.ts";
import {
  providerAddress,
  providerKey,
  rivalAddress,
  rivalKey,
  startMarketChain,
  tenantKey,
} from "../support/market-chain.ts";
import {
  closeBid,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  updateDeployment,
} from "../support/market-messages.ts";
import { createOwner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { bid, changedKeys, deployment, order, upToDate, watch } from "../support/stages/mirror-stage.ts";
import { counts, quickTest, seeds } from "../support/thorough.ts";

quickTest("orders, bids and leases come and go in the mirror as they do on the chain", async (t) => {
  const market = await startMarketChain(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  const watched = await watch(t, market);
  const { mirror } = watched.chain;
  assert.deepEqual(
    [...mirror.orders()].map(({ id }) => id),
    [order(1n)],
    "what was there before is listed",
  );

  await market.act(tenantKey, createDeployment({ id: deployment(2n) }), createDeployment({ id: deployment(3n) }));
  await market.act(providerKey, createBid(bid(1n)), createBid(bid(2n)), createBid(bid(3n)));
  await market.act(rivalKey, createBid(bid(2n, rivalAddress)));
  await upToDate(watched, market);
  assert.equal([...mirror.orders()].length, 3);
  assert.equal(mirror.order(order(2n))?.spec.name, "lab");
  assert.deepEqual(
    [1n, 2n, 3n].map((dseq) => mirror.bid(bid(dseq))?.state),
    ["open", "open", "open"],
  );
  assert.equal(mirror.bid(bid(2n, rivalAddress)), undefined, "a rival's bid does not concern us");

  await market.act(tenantKey, createLease(bid(1n)));
  await market.act(tenantKey, createLease(bid(2n, rivalAddress)));
  await upToDate(watched, market);
  assert.deepEqual(
    [...mirror.orders()].map(({ id }) => id),
    [order(3n)],
  );
  assert.deepEqual(
    [1n, 2n, 3n].map((dseq) => mirror.bid(bid(dseq))?.state),
    ["active", "lost", "open"],
  );
  assert.deepEqual(
    [...mirror.leases()].map(({ id, state }) => [formatBidId(id), state]),
    [[formatBidId(bid(1n)), "active"]],
  );
  assert.equal(mirror.deployment(deployment(1n))?.escrow?.state, "open");

  const hash = new Uint8Array(32).fill(9);
  await market.act(tenantKey, updateDeployment(hash, deployment(1n)));
  await upToDate(watched, market);
  assert.deepEqual(Buffer.from(mirror.deployment(deployment(1n))?.hash ?? []), Buffer.from(hash));

  await market.act(providerKey, closeBid(bid(3n)));
  await market.act(tenantKey, closeDeployment(deployment(1n)));
  await upToDate(watched, market);
  assert.equal(mirror.bid(bid(3n))?.state, "closed");
  assert.equal(mirror.lease(bid(1n))?.state, "closed");
  assert.equal(mirror.deployment(deployment(1n)), undefined);
  const keys = changedKeys(watched.steps);
  assert.ok(keys.includes(`order ${formatOrderId(order(3n))}`));
  assert.ok(keys.includes(`lease ${formatBidId(bid(1n))}`));

  assert.deepEqual(await watched.chain.compareMirror(), []);
  assert.deepEqual(watched.chain.counts.mirror, { builds: 1, comparisons: 1, drift: 0 });
});

quickTest("new orders of a block above the limit for single queries are read from the list", async (t) => {
  const market = await startMarketChain(t);
  const watched = await watch(t, market);
  const ids = Array.from({ length: 60 }, (_, index) => deployment(BigInt(index + 1)));
  await market.act(tenantKey, ...ids.map((id) => createDeployment({ id })));
  await market.act(providerKey, ...ids.map(({ dseq }) => createBid(bid(dseq))));
  await market.act(tenantKey, ...ids.slice(0, 50).map(({ dseq }) => createLease(bid(dseq))));
  await upToDate(watched, market);
  const { mirror } = watched.chain;
  assert.equal([...mirror.orders()].length, 10);
  assert.equal([...mirror.leases()].length, 50);
  assert.equal([...mirror.bids()].filter(({ state }) => state === "active").length, 50);
  assert.equal(mirror.deployment(deployment(50n))?.state, "active");
});

quickTest("what closed while we were away is no longer in the mirror after a start", async (t) => {
  const market = await startMarketChain(t);
  const dir = memoryFolder(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }), createDeployment({ id: deployment(2n) }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(tenantKey, createLease(bid(1n)));
  const before = await watch(t, market, { dir });
  assert.equal(before.chain.mirror.lease(bid(1n))?.state, "active");
  await upToDate(before, market);
  await before.stop();
  await market.act(tenantKey, closeDeployment(deployment(1n)), closeDeployment(deployment(2n)));
  const after = await watch(t, market, { dir });
  await upToDate(after, market);
  assert.deepEqual([...after.chain.mirror.leases()], []);
  assert.deepEqual([...after.chain.mirror.orders()], []);
  const replayed = changedKeys(after.steps);
  assert.ok(replayed.includes(`lease ${formatBidId(bid(1n))}`), "and the close is reported");
  assert.equal((await after.chain.queries.lease(bid(1n))).value?.state, "closed", "the chain has the proof");
});

quickTest("a bid that lost while we were down is reported after a start", async (t) => {
  const market = await startMarketChain(t);
  const dir = memoryFolder(t);
  await market.act(tenantKey, createDeployment({ id: deployment(1n) }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(rivalKey, createBid(bid(1n, rivalAddress)));
  const before = await watch(t, market, { dir });
  await upToDate(before, market);
  await before.stop();
  await market.act(tenantKey, createLease(bid(1n, rivalAddress)));
  const after = await watch(t, market, { dir });
  await upToDate(after, market);
  await eventually("the lease", () => changedKeys(after.steps).includes(`bid ${formatBidId(bid(1n))}`));
  assert.equal((await after.chain.queries.bid(bid(1n))).value?.state, "lost");
});

test("whatever happens on the market, mirror and chain agree", async () => {
  await playSeeds("mirror", seeds(counts(1, 5, 40)), async (seed) => {
    await using owner = createOwner();
    const random = createSeededRandom(seed);
    const market = await startMarketChain(owner);
    const watched = await watch(owner, market);
    let created = 0n;
    for (let turn = 0; turn < 60; turn += 1) {
      const dseq = BigInt(1 + random.int(Number(created) + 1));
      const bidder = random.int(2) === 0 ? providerAddress : rivalAddress;
      const acts = [
        () => market.act(tenantKey, createDeployment({ id: deployment(++created) })),
        () => market.act(bidder === providerAddress ? providerKey : rivalKey, createBid(bid(dseq, bidder))),
        () => market.act(tenantKey, createLease(bid(dseq, bidder))),
        () => market.act(providerKey, closeBid(bid(dseq))),
        () => market.act(tenantKey, closeDeployment(deployment(dseq))),
        () => market.act(tenantKey, updateDeployment(new Uint8Array(32).fill(turn), deployment(dseq))),
      ];
      // Much of this the chain rejects, as it should.
      await acts[random.int(acts.length)]?.().catch(() => undefined);
    }
    await upToDate(watched, market);
    assert.deepEqual(await watched.chain.compareMirror(), []);
    assert.deepEqual(watched.chain.counts.mirror, { builds: 1, comparisons: 1, drift: 0 });
  });
});
