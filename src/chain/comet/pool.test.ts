import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { advanceUntilSettled } from "../../../test/support/advance-until-settled.ts";
import { createEventApp } from "../../../test/support/event-app.ts";
import { type EventChain, openPool, startEventChain } from "../../../test/support/event-chain.ts";
import { type FaultProxy, startFaultProxy } from "../../../test/support/fault-proxy.ts";
import { faultTransport } from "../../../test/support/fault-transport.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { createNode } from "../../box/chain/node/node.ts";
import { type Clock, realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type Fields, type Log, silentLog } from "../../runtime/log.ts";
import { createHttpTransports } from "./http-transport.ts";
import { createPool, type Pool } from "./pool.ts";
import { rpcBreakerFailures } from "./rpc-node.ts";

interface Stage {
  readonly chain: EventChain;
  readonly proxies: FaultProxy[];
  readonly pool: Pool;
}

async function stage(t: TestContext, nodes: number): Promise<Stage> {
  const chain = await startEventChain(t);
  for (let made = 0; made < 10; made += 1) await chain.block();
  const proxies = await Promise.all(Array.from({ length: nodes }, () => startFaultProxy(t, () => chain.node.rpcUrl)));
  const pool = openPool(
    t,
    proxies.map(({ url }) => url),
  );
  await pool.open();
  return { chain, proxies, pool };
}

const name = (_: unknown, node: string) => node;

/** Waits for the rejection and gives it. */
async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  const thrown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(thrown instanceof ProviderError, String(thrown));
  return thrown;
}

test("a call that one node fails is answered by the next, which is used from then on", async (t) => {
  const { proxies, pool } = await stage(t, 3);
  const [first] = proxies as [FaultProxy];
  assert.equal((await pool.call("health", {}, name)).node, first.url);
  first.fault = () => "cut";
  const { node } = await pool.call("health", {}, name);
  assert.notEqual(node, first.url);
  assert.equal(pool.switches, 1);
  first.fault = () => undefined;
  assert.equal((await pool.call("health", {}, name)).node, node, "and stays in use");
  assert.equal(pool.nodes[0]?.condition, "failing");
});

test("an answer that cannot be read counts as a failure of its node", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const read = (_: unknown, node: string) => {
    if (node !== proxies[0]?.url) return node;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method: "health", reason: "it is odd" });
  };
  assert.equal((await pool.call("health", {}, read)).node, proxies[1]?.url);
  assert.equal(pool.nodes[0]?.condition, "failing");
});

test("a node of which one method breaks off or is a proxy's page is not good, although its status call succeeds", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  for (const fault of ["cut off", "html"] as const) {
    first.fault = (method) => (method === "abci_query" ? fault : undefined);
    await failureOf(pool.call("abci_query", {}, name, { node: first.url }));
    await pool.probe();
    assert.deepEqual(
      pool.nodes.map(({ condition }) => condition),
      ["failing", "good"],
      fault,
    );
    assert.equal((await pool.call("abci_query", {}, name)).node, second.url);
    first.fault = () => undefined;
    await pool.probe();
    assert.equal(pool.nodes[0]?.condition, "good", fault);
  }
});

test("a node of which one method hangs is not good, although its status call succeeds", async (t) => {
  const clock = createVirtualClock();
  const node = createNode({ app: createEventApp(), clock, log: silentLog, indexMs: 0, listens: false });
  t.after(() => node.stop());
  await node.start();
  node.step();
  const [first, second] = [faultTransport(node.transport("first")), node.transport("second")];
  const pool = createPool({ nodes: [first, second], clock, random: createSeededRandom(1), log: silentLog });
  t.after(() => pool.close());
  const passing = <T>(work: Promise<T>) => advanceUntilSettled(clock, work);
  await passing(pool.open());
  first.hangs = (method) => method === "abci_query";
  await failureOf(passing(pool.call("abci_query", {}, name, { node: "first" })));
  await passing(pool.probe());
  assert.deepEqual(
    pool.nodes.map(({ condition }) => condition),
    ["failing", "good"],
  );
  assert.equal((await passing(pool.call("abci_query", {}, name))).node, "second");
  first.hangs = () => false;
  await passing(pool.probe());
  assert.equal(pool.nodes[0]?.condition, "good");
});

test("a node that takes its time with every answer gives way to a quicker one, and stays where none is quicker", async (t) => {
  const chain = await startEventChain(t);
  const proxies = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  let tookMs = 0;
  const clock: Clock = { ...realClock, monotonicMs: () => realClock.monotonicMs() + tookMs };
  const pool = openPool(t, [first.url, second.url], undefined, clock);
  await pool.open();
  const slow = (_: string, answer: string) => {
    tookMs += 3_000;
    return answer;
  };
  const askMany = async () => {
    for (let call = 0; call < 10; call += 1) await pool.call("health", {}, name);
  };
  first.rewrite = slow;
  await askMany();
  assert.equal(pool.preferred.name, second.url);
  assert.equal(pool.switches, 1);
  second.rewrite = slow;
  await askMany();
  await askMany();
  assert.equal(pool.switches, 1, "alternating between the two brings nothing");
});

test("an error is the answer to a look-up of a transaction; any other call goes to the next node, and this one is avoided", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  first.fault = (method) => (method === "status" ? undefined : "error");
  assert.equal((await failureOf(pool.call("tx", {}, name))).code, "AKP_CHAIN_CALL_REFUSED");
  assert.equal(pool.nodes[0]?.condition, "good");
  for (const method of ["broadcast_tx_sync", "block_results", "abci_query", "health"]) {
    const { node } = await pool.call(method, { height: "3" }, name);
    assert.equal(node, second.url, method);
    assert.equal(pool.nodes[0]?.condition, "failing", method);
    assert.match(pool.nodes[0]?.error ?? "", /could not find results/);
  }
  assert.equal(pool.switches, 1);
});

test("methods that failed at a node are called again by every probe, until they work", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first] = proxies as [FaultProxy];
  first.fault = (method) => (method === "abci_query" ? "error" : undefined);
  await pool.call("abci_query", {}, name);
  await pool.probe();
  assert.equal(pool.nodes[0]?.condition, "failing", "its status says nothing about its queries");
  first.fault = () => undefined;
  await pool.probe();
  assert.equal(pool.nodes[0]?.condition, "good");
});

test("two nodes that each fail at something else serve what they can, without a change of the one in use at every call", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  first.fault = (method) => (method === "abci_query" ? "error" : undefined);
  second.fault = (method) => (method === "block_results" ? "error" : undefined);
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await pool.call("abci_query", {}, name)).node, second.url);
    assert.equal((await pool.call("block_results", { height: "3" }, name)).node, first.url);
  }
  assert.ok(pool.switches <= 1, `${pool.switches}`);
  assert.equal(first.passed.get("abci_query"), undefined);
});

test("a block that a node has thrown away is no fault of the node", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  first.rewrite = (method, answer) =>
    method === "status" ? answer.replace(/"earliest_block_height":"\d+"/, '"earliest_block_height":"5"') : answer;
  await pool.probe();
  first.fault = (method) => (method === "block_results" ? "error" : undefined);
  assert.equal((await pool.call("block_results", { height: "3" }, name)).node, second.url);
  assert.equal(pool.nodes[0]?.condition, "good");
});

test("a node that fails again and again is left alone for a while", async (t) => {
  const { proxies, pool } = await stage(t, 1);
  const [only] = proxies as [FaultProxy];
  let calls = 0;
  only.fault = () => {
    calls += 1;
    return "html";
  };
  for (let tried = 0; tried < 10; tried += 1) await failureOf(pool.call("health", {}, name));
  assert.equal(calls, rpcBreakerFailures);
  assert.equal(pool.nodes[0]?.condition, "down");
  const failure = await failureOf(pool.call("health", {}, name));
  assert.equal(failure.code, "AKP_CHAIN_NO_ENDPOINT");
  assert.match(failure.message, /is down \(.*an HTML page/);
});

test("a read at or above a height is answered only by a node that has reached it", async (t) => {
  const { chain, proxies, pool } = await stage(t, 2);
  const [behind, ahead] = proxies as [FaultProxy, FaultProxy];
  behind.lag = 2n;
  await pool.probe();
  assert.equal((await pool.call("health", {}, name)).node, behind.url, "two blocks are nothing for other reads");
  const strict = await pool.call("health", {}, name, { atOrAbove: chain.node.height });
  assert.equal(strict.node, ahead.url);
  assert.equal(strict.nodeHeight, chain.node.height);
  const beyond = await failureOf(pool.call("health", {}, name, { atOrAbove: chain.node.height + 1n }));
  assert.match(beyond.message, /at height 10, below the required height 11/);
  await chain.block();
  assert.equal((await pool.call("health", {}, name, { atOrAbove: 11n })).node, ahead.url);
});

test("the head is what most nodes report, a block that was served counting as one more report, and it falls again", async (t) => {
  const { proxies, pool } = await stage(t, 3);
  const report = async (...heights: readonly bigint[]) => {
    for (const [index, proxy] of proxies.entries()) {
      proxy.rewrite = (method, answer) =>
        method === "status" ? answer.replace(/(?<="latest_block_height":")\d+/, `${heights[index]}`) : answer;
    }
    await pool.probe();
    return { head: pool.agreed?.height, lags: pool.nodes.map(({ lag }) => lag) };
  };
  assert.deepEqual(await report(10n, 10n, 1_010n), { head: 10n, lags: [0n, 0n, 0n] });
  assert.deepEqual(await report(10n, 10n, 20n), { head: 10n, lags: [0n, 0n, 0n] });
  pool.served({ height: 20n, timeNs: 0n });
  assert.deepEqual(await report(10n, 10n, 20n), { head: 20n, lags: [10n, 10n, 0n] }, "two are stuck, and one goes on");
  assert.deepEqual(await report(5n, 5n, 5n), { head: 5n, lags: [0n, 0n, 0n] }, "the chain was restored");
});

test("without a chain's id given, that of the first node that answers counts, and nodes of other chains are avoided", async (t) => {
  const ours = await startEventChain(t, { chainId: "ours-1" });
  const theirs = await startEventChain(t, { chainId: "theirs-1" });
  await ours.block();
  await theirs.block();
  const dead = "http://127.0.0.1:1";
  const pool = openPool(t, [dead, ours.node.rpcUrl, theirs.node.rpcUrl]);
  await pool.open();
  assert.equal(pool.chainId, "ours-1");
  assert.deepEqual(
    pool.nodes.map(({ condition }) => condition),
    ["unknown", "good", "other chain"],
  );
});

test("a pool of nothing but nodes of another chain does not open, and says which chain they are of", async (t) => {
  const theirs = await startEventChain(t, { chainId: "theirs-1" });
  await theirs.block();
  const lines: [string, Fields | undefined][] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (message, fields) => void lines.push([message, fields]),
    with: () => log,
  };
  const nodes = createHttpTransports([{ url: theirs.node.rpcUrl }], realClock);
  const pool = createPool({ nodes, chainId: "ours-1", clock: realClock, random: createSeededRandom(1), log });
  t.after(() => pool.close());
  const { code, message } = await failureOf(pool.open());
  assert.equal(code, "AKP_CHAIN_WRONG_ID");
  assert.match(message, /belongs to the chain theirs-1, not to ours-1/);
  assert.deepEqual(
    lines.map(([text]) => text),
    ["RPC node is avoided"],
  );
});

test("a pool without a node that answers says why", async (t) => {
  const pool = openPool(t, ["http://127.0.0.1:1"]);
  const { code, message, advice } = await failureOf(pool.open());
  assert.equal(code, "AKP_CHAIN_UNREACHABLE");
  assert.match(message, /ECONNREFUSED/);
  assert.match(advice, /--node/);
});

test("two nodes whose shown names are equal → numbered", async (t) => {
  const { chain } = await stage(t, 1);
  const url = chain.node.rpcUrl;
  const pool = openPool(t, [`${url}/?key=1`, `${url}/?key=2`]);
  assert.deepEqual(
    pool.nodes.map(({ name }) => name),
    [`${url}/…`, `${url}/… (2)`],
  );
});

test("a node that is loading older blocks → the next one is called", async (t) => {
  const chain = await startEventChain(t);
  await chain.block();
  const proxies = await Promise.all([1, 2].map(() => startFaultProxy(t, () => chain.node.rpcUrl)));
  const [good, loading] = proxies as [FaultProxy, FaultProxy];
  loading.fault = () => "html";
  const pool = openPool(t, [good.url, loading.url]);
  await pool.open();
  loading.fault = () => undefined;
  loading.rewrite = (_, answer) => answer.replace(/"catching_up":false/, '"catching_up":true');
  good.fault = () => "html";
  const { message } = await failureOf(pool.call("health", {}, name));
  assert.match(message, /still loading older blocks/);
  assert.equal(loading.passed.get("health"), undefined);
});

test("the head is not taken from a node that says with it that it is loading older blocks", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  first.rewrite = (_, answer) => answer.replace(/"catching_up":false/, '"catching_up":true');
  assert.equal((await pool.head()).catchingUp, false);
  assert.equal(pool.preferred.name, second.url);
});

test("listeners are called when another node is preferred", async (t) => {
  const { proxies, pool } = await stage(t, 2);
  const used: string[] = [];
  pool.onSwitch(() => used.push(pool.preferred.name));
  const [first, second] = proxies as [FaultProxy, FaultProxy];
  await pool.call("health", {}, name);
  first.fault = () => "html";
  await pool.call("health", {}, name);
  await pool.call("health", {}, name);
  assert.deepEqual(used, [second.url]);
});
