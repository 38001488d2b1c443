/** What events of a lease's money, group and reclamation do to the mirror. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBidId, formatDeploymentId } from "../../src/market/ids.ts";
import { providerKey, startMarketChain, tenantKey } from "../support/market-chain.ts";
import {
  closeGroup,
  createBid,
  createDeployment,
  createLease,
  deposit,
  pauseGroup,
  spec,
  startGroup,
  startReclaim,
  unit,
} from "../support/market-messages.ts";
import { bid, changedKeys, deployment, order, upToDate, watch } from "../support/stages/mirror-stage.ts";

test("a lease whose money has run dry is closed in the mirror by the block's own events", async (t) => {
  const market = await startMarketChain(t, { closeDryLeasesInEndBlock: true });
  const dear = { denom: "uact", amount: "100000" };
  const groups = [spec({ resources: [unit(1, dear.amount)] })];
  await market.act(tenantKey, createDeployment({ id: deployment(1n), groups, deposit: deposit(500_000n, "uact") }));
  await market.act(providerKey, createBid(bid(1n), { price: dear }));
  await market.act(tenantKey, createLease(bid(1n)));
  const watched = await watch(t, market);
  const { mirror } = watched.chain;
  assert.equal(mirror.lease(bid(1n))?.state, "active");
  for (let made = 0; made < 8; made += 1) market.node.step();
  await upToDate(watched, market);
  assert.equal(mirror.lease(bid(1n))?.state, "insufficient_funds");
  assert.equal(mirror.bid(bid(1n))?.state, "closed");
  assert.equal(mirror.deployment(deployment(1n)), undefined);
  assert.ok(changedKeys(watched.steps).includes(`lease ${formatBidId(bid(1n))}`));
  assert.deepEqual(await watched.chain.compareMirror(), []);
});

test("groups of a deployment of ours are seen to pause, start and close", async (t) => {
  const market = await startMarketChain(t);
  const groups = [spec(), spec({ name: "second" })];
  const second = { ...deployment(1n), gseq: 2 };
  await market.act(tenantKey, createDeployment({ id: deployment(1n), groups }));
  await market.act(providerKey, createBid(bid(1n)));
  await market.act(tenantKey, createLease(bid(1n)));
  const watched = await watch(t, market);
  const { mirror } = watched.chain;
  const states = () => mirror.deployment(deployment(1n))?.groups.map(({ state }) => state);
  const secondOrder = (oseq: number) => mirror.order({ ...second, oseq })?.state;
  assert.deepEqual([states(), secondOrder(1)], [["open", "open"], "open"]);

  await market.act(tenantKey, pauseGroup(second));
  await upToDate(watched, market);
  assert.deepEqual([states(), secondOrder(1)], [["open", "paused"], undefined]);
  await market.act(tenantKey, startGroup(second));
  await upToDate(watched, market);
  assert.deepEqual([states(), secondOrder(2)], [["open", "open"], "open"]);
  await market.act(tenantKey, closeGroup(second));
  await upToDate(watched, market);
  assert.deepEqual([states(), secondOrder(2)], [["open", "closed"], undefined]);
  const key = `deployment ${formatDeploymentId(deployment(1n))}`;
  assert.ok(changedKeys(watched.steps).filter((changed) => changed === key).length >= 3, "each of them is reported");

  await market.act(tenantKey, pauseGroup(order(1n)));
  await upToDate(watched, market);
  assert.equal(mirror.lease(bid(1n))?.state, "closed", "with its group our lease ends");
  assert.deepEqual(await watched.chain.compareMirror(), []);
});

test("a lease that is being reclaimed is live, whether we saw the beginning of it or not", async (t) => {
  const market = await startMarketChain(t);
  const hourNs = 3_600_000_000_000n;
  await market.act(tenantKey, createDeployment({ id: deployment(1n), minWindowNs: hourNs }));
  await market.act(providerKey, createBid(bid(1n), { windowNs: hourNs }));
  await market.act(tenantKey, createLease(bid(1n)));
  const watched = await watch(t, market);
  await market.act(providerKey, startReclaim(bid(1n)));
  await upToDate(watched, market);
  assert.equal(watched.chain.mirror.lease(bid(1n))?.state, "reclaiming");
  assert.ok(watched.chain.mirror.deployment(deployment(1n)), "it is still paid");
  assert.ok(changedKeys(watched.steps).includes(`lease ${formatBidId(bid(1n))}`));
  assert.deepEqual(await watched.chain.compareMirror(), []);
  const later = await watch(t, market);
  assert.equal(later.chain.mirror.lease(bid(1n))?.state, "reclaiming");
});
