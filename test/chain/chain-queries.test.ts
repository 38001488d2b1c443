/** Queries against an embedded node with the whole market, and against what a real node answered. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { QueryOrdersResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { chainStatesKept } from "../../src/box/chain/app.ts";
import type { Node } from "../../src/box/chain/node/node.ts";
import { wireFields } from "../../src/box/chain/wire.ts";
import type { Query } from "../../src/chain/comet/queries/abci-query.ts";
import {
  auditedAttributesQuery,
  bidsQuery,
  certificatesQuery,
  createQueries,
  deploymentsQuery,
  escrowAccountsQuery,
  escrowPaymentsQuery,
  leasesQuery,
  marketParamsQuery,
  ordersQuery,
} from "../../src/chain/comet/queries/queries.ts";
import { amountOf } from "../../src/market/coin.ts";
import { showDecimal } from "../../src/market/decimal.ts";
import type { BidId, DeploymentId, OrderId } from "../../src/market/ids.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { openPool } from "../support/event-chain.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import {
  providerAddress,
  providerKey,
  rivalAddress,
  rivalKey,
  startMarketChain,
  tenantAddress,
  tenantKey,
} from "../support/market-chain.ts";
import {
  closeDeployment,
  closeLease,
  createBid,
  createDeployment,
  createLease,
  hash,
  spec,
} from "../support/market-messages.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { person } from "../support/stages/market-stage.ts";

const deployment = (dseq: bigint): DeploymentId => ({ owner: tenantAddress, dseq });
const order = (dseq: bigint): OrderId => ({ ...deployment(dseq), gseq: 1, oseq: 1 });
const bid = (dseq: bigint): BidId => ({ ...order(dseq), provider: providerAddress, bseq: 0 });

/** Blocks until the node has forgotten the state of now. */
function outliveStates(node: Node): void {
  for (let made = 0; made <= chainStatesKept; made += 1) node.step();
}

const recordedLists: readonly [string, Query<never, { readonly items: readonly unknown[] }>][] = [
  ["akash.market.v1beta5.Query.Orders", ordersQuery],
  ["akash.market.v1beta5.Query.Bids", bidsQuery],
  ["akash.market.v1beta5.Query.Leases", leasesQuery],
  ["akash.deployment.v1beta4.Query.Deployments", deploymentsQuery],
  ["akash.escrow.v1.Query.Accounts", escrowAccountsQuery],
  ["akash.escrow.v1.Query.Payments", escrowPaymentsQuery],
  ["akash.cert.v1.Query.Certificates", certificatesQuery],
  ["akash.audit.v1.Query.AllProvidersAttributes", auditedAttributesQuery],
];

for (const [name, query] of recordedLists) {
  test(`the real node's list ${name} is read whole`, () => {
    const { response } = readJsonRecording<{ response: { value: string | null } }>(`chain/queries/${name}.json`);
    const bytes = Buffer.from(response.value ?? "", "base64");
    const { items } = query.decode(bytes, 1n);
    // What is listed is the first field of every one of these answers.
    assert.equal(items.length, [...wireFields(bytes)].filter(({ number }) => number === 1).length);
  });
}

test("the real node's market parameters are read with what reclamation added", () => {
  const { response } = readJsonRecording<{ response: { value: string } }>(
    "chain/queries/akash.market.v1beta5.Query.Params.json",
  );
  const params = marketParamsQuery.decode(Buffer.from(response.value, "base64"), 1n);
  assert.equal(params.orderMaxBids, 20);
  assert.equal(params.minReclamationWindowNs, 3_600_000_000_000n);
});

test("single things are read with ids and money of ours, and what is not there is undefined at a height", async (t) => {
  const { node, act } = await startMarketChain(t);
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  await act(tenantKey, createDeployment({ id: deployment(2n ** 63n + 5n) }));
  const { dseq } = deployment(2n ** 63n + 5n);
  await act(providerKey, createBid(bid(dseq)));

  const found = await queries.order(order(dseq), { atOrAbove: node.height });
  assert.deepEqual([found.value?.id, found.value?.state, found.height], [order(dseq), "open", node.height]);
  const ours = await queries.bid(bid(dseq));
  assert.equal(showDecimal(ours.value?.price.amount ?? { atto: 0n }), "25.1605");
  assert.equal(ours.value?.escrow?.key, `bid/${tenantAddress}/${dseq}/1/1/${providerAddress}`);
  await act(tenantKey, createLease(bid(dseq)));
  const lease = await queries.lease(bid(dseq));
  assert.deepEqual([lease.value?.state, lease.value?.payment?.state], ["active", "open"]);
  const paid = await queries.deployment(deployment(dseq));
  assert.deepEqual(Buffer.from(paid.value?.hash ?? []), Buffer.from(hash));
  assert.equal(paid.value?.groups[0]?.state, "open");
  assert.deepEqual(
    paid.value?.escrow?.funds.map(({ amount }) => showDecimal(amount)),
    ["5000000"],
  );
  assert.equal(paid.value?.groups[0]?.spec.name, "lab");

  const absent = [
    await queries.order(order(99n)),
    await queries.bid(bid(99n)),
    await queries.lease(bid(99n)),
    await queries.deployment(deployment(99n)),
    await queries.account(person(77)),
    await queries.provider(person(77)),
  ];
  for (const { value, height } of absent) assert.deepEqual([value, height > 0n], [undefined, true]);
  assert.deepEqual((await queries.auditedAttributes(person(77))).items, []);
});

/** A proxy before two nodes of which one is behind: it answers whatever does not name a height. */
async function withLaggard(t: TestContext, rpcUrl: string) {
  const proxy = await startFaultProxy(t, () => rpcUrl);
  const absent = { code: 22, codespace: "sdk", log: "order not found", height: "0" };
  proxy.rewrite = (method, answer, { height }) => {
    if (method !== "abci_query" || height !== undefined) return answer;
    return JSON.stringify({ ...JSON.parse(answer), result: { response: absent } });
  };
  const pool = openPool(t, [proxy.url]);
  await pool.open();
  return { proxy, queries: createQueries(pool) };
}

test("that something is not there at a height or above is not believed of a node that may be behind", async (t) => {
  const { node, act } = await startMarketChain(t);
  await act(tenantKey, createDeployment({ id: deployment(1n) }));
  const { queries } = await withLaggard(t, node.rpcUrl);
  const found = await queries.order(order(1n), { atOrAbove: node.height });
  assert.deepEqual([found.value?.state, found.height], ["open", node.height]);
  const absent = await queries.order(order(99n), { atOrAbove: node.height });
  assert.deepEqual([absent.value, absent.height], [undefined, node.height]);
});

test("where the state of the height is gone, a newer one proves that something is not there", async (t) => {
  const { node, act } = await startMarketChain(t);
  await act(tenantKey, createDeployment({ id: deployment(1n) }));
  const { queries } = await withLaggard(t, node.rpcUrl);
  const seen = node.height;
  outliveStates(node);
  const found = await queries.order(order(1n), { atOrAbove: seen });
  assert.deepEqual([found.value?.state, found.height], ["open", node.height]);
  const absent = await queries.order(order(99n), { atOrAbove: seen });
  assert.deepEqual([absent.value, absent.height], [undefined, node.height]);
});

test("accounts, balances, providers, certificates and parameters are read", async (t) => {
  const { node } = await startMarketChain(t);
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  const account = await queries.account(providerAddress);
  assert.deepEqual([account.value?.address, account.value?.sequence], [providerAddress, 1n]);
  const { items } = await queries.balances(tenantAddress);
  assert.equal(amountOf(items, "uact"), 10n ** 13n);
  assert.equal(amountOf(items, "uakt"), 10n ** 13n);
  assert.equal((await queries.provider(providerAddress)).value?.hostUri, "https://provider.test:8443");
  assert.deepEqual((await queries.certificates({ owner: tenantAddress })).items, []);
  assert.equal((await queries.marketParams(undefined)).value?.orderMaxBids, 20);
});

test("the error of a query that the chain rejects has its code", async (t) => {
  const { node } = await startMarketChain(t);
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  await assert.rejects(
    queries.orders({ state: "nonsense" as "open" }),
    (thrown) => ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED") && /\(sdk 18\)/.test(thrown.message),
  );
});

test("a list in pages is whole, whatever the size of a page, and all of one height while no block comes", async (t) => {
  const { node, act } = await startMarketChain(t);
  const ids = Array.from({ length: 23 }, (_, index) => deployment(BigInt(index + 1)));
  await act(tenantKey, ...ids.map((id) => createDeployment({ id })));
  await act(providerKey, ...ids.map(({ dseq }) => createBid(bid(dseq))));
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  for (const pageEntries of [1, 2, 5, 22, 23, 24]) {
    const orders = await queries.orders({ state: "open" }, { pageEntries });
    assert.deepEqual(
      orders.items.map(({ id }) => id.dseq),
      ids.map(({ dseq }) => dseq),
      `pages of ${pageEntries}`,
    );
    assert.deepEqual([orders.steady, orders.height], [true, node.height]);
    const bids = await queries.bids({ provider: providerAddress, state: "open" }, { pageEntries });
    assert.equal(bids.items.length, 23, `pages of ${pageEntries}`);
    const deployments = await queries.deployments({ state: "active" }, { pageEntries });
    assert.equal(deployments.items.length, 23, `pages of ${pageEntries}`);
  }
  const { items } = await queries.orders({ state: "open" }, { pageEntries: 5, pages: 2 });
  assert.equal(items.length, 10, "no more pages than are wanted");
});

test("all payments of a deployment's account are listed, also a rival's, and none of another whose number begins alike", async (t) => {
  const { node, act } = await startMarketChain(t);
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  await act(
    tenantKey,
    createDeployment({ id: deployment(1n), groups: [spec({ name: "one" }), spec({ name: "two" })] }),
  );
  await act(tenantKey, createDeployment({ id: deployment(12n) }));
  const rivals: BidId = { ...bid(1n), gseq: 2, provider: rivalAddress };
  await act(providerKey, createBid(bid(1n)), createBid(bid(12n)));
  await act(rivalKey, createBid({ ...bid(1n), provider: rivalAddress }), createBid(rivals));
  await act(tenantKey, createLease(bid(1n)), createLease(rivals), createLease(bid(12n)));
  await act(tenantKey, closeLease(bid(1n)));
  const { items, height } = await queries.paymentsOf(deployment(1n));
  assert.deepEqual(
    items.map(({ owner, state }) => [owner, state]).sort(),
    [
      [providerAddress, "closed"],
      [rivalAddress, "open"],
    ].sort(),
  );
  for (const each of items) assert.equal(each.height, height);
  assert.equal((await queries.bidCount(order(1n))).value, 2, "also those that lost or are closed");
  assert.equal((await queries.bidCount(order(99n))).value, 0);
});

test("open accounts and open payments of all deployments are listed page by page, and none of a bid or of what is over", async (t) => {
  const { node, act } = await startMarketChain(t);
  const pool = openPool(t, [node.rpcUrl]);
  await pool.open();
  const queries = createQueries(pool);
  for (const dseq of [1n, 2n, 3n, 4n]) {
    await act(tenantKey, createDeployment({ id: deployment(dseq) }));
    await act(providerKey, createBid(bid(dseq)));
    if (dseq !== 4n) await act(tenantKey, createLease(bid(dseq)));
  }
  await act(tenantKey, closeDeployment(deployment(2n)));
  const accounts = await queries.openEscrowAccounts(undefined, { pageEntries: 1 });
  const payments = await queries.openEscrowPayments(undefined, { pageEntries: 1 });
  const keys = (...dseqs: bigint[]) => dseqs.map((dseq) => `deployment/${tenantAddress}/${dseq}`);
  assert.deepEqual(
    accounts.items.map(({ key }) => key),
    keys(1n, 3n, 4n),
  );
  assert.deepEqual(
    payments.items.map(({ key }) => key),
    keys(1n, 3n).map((key) => `${key}/1/1/${providerAddress}`),
  );
  assert.deepEqual([accounts.height, accounts.steady, payments.height], [node.height, true, node.height]);
});

/** Reads a list in three pages; something happens before the second. */
async function listDuring(t: TestContext, happening: (node: Node) => void) {
  const { node, act } = await startMarketChain(t);
  const ids = Array.from({ length: 9 }, (_, index) => deployment(BigInt(index + 1)));
  await act(tenantKey, ...ids.map((id) => createDeployment({ id })));
  const proxy = await startFaultProxy(t, () => node.rpcUrl);
  const pool = openPool(t, [proxy.url]);
  await pool.open();
  const before = node.height;
  let calls = 0;
  proxy.fault = (method) => {
    if (method === "abci_query") calls += 1;
    if (calls === 2) happening(node);
    return undefined;
  };
  return { before, ...(await createQueries(pool).orders({ state: "open" }, { pageEntries: 4 })) };
}

test("a list during which a block comes is of the height at which it was begun", async (t) => {
  const { before, items, steady, height } = await listDuring(t, (node) => node.step());
  assert.deepEqual([items.length, steady, height], [9, true, before]);
});

test("a list whose height is gone before its end is read on, and says that it is not of one height", async (t) => {
  const { before, items, steady, height } = await listDuring(t, outliveStates);
  assert.deepEqual([items.length, steady, height], [9, false, before]);
});

test("a list is begun anew at another node when the first fails half-way", async (t) => {
  const { node, act } = await startMarketChain(t);
  await act(tenantKey, ...[1n, 2n, 3n, 4n, 5n].map((dseq) => createDeployment({ id: deployment(dseq) })));
  const proxies = await Promise.all([1, 2].map(() => startFaultProxy(t, () => node.rpcUrl)));
  const pool = openPool(
    t,
    proxies.map(({ url }) => url),
  );
  await pool.open();
  let calls = 0;
  const [first] = proxies;
  assert.ok(first);
  first.fault = () => {
    calls += 1;
    return calls >= 2 ? "cut" : undefined;
  };
  const { items, node: said } = await createQueries(pool).orders({ state: "open" }, { pageEntries: 2 });
  assert.equal(items.length, 5);
  assert.equal(said, proxies[1]?.url);
});

test("a list whose pages lead to themselves is given up", async (t) => {
  const page = QueryOrdersResponse.fromPartial({ pagination: { nextKey: Buffer.from("again") } });
  const value = Buffer.from(QueryOrdersResponse.encode(page).finish()).toString("base64");
  const status = {
    node_info: { network: "loop-1" },
    sync_info: { latest_block_height: "5", latest_block_time: "2026-01-01T00:00:00Z", earliest_block_height: "1" },
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body);
    const result = method === "status" ? status : { response: { code: 0, value, height: "5" } };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const pool = openPool(t, [`http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
  await pool.open();
  await assert.rejects(createQueries(pool).orders({}), (thrown) => ProviderError.is(thrown, "AKP_CHAIN_LIST_ENDLESS"));
});
