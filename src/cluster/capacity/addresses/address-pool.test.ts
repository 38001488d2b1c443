import assert from "node:assert/strict";
import { test } from "node:test";
import { advanceUntilSettled } from "../../../../test/support/advance-until-settled.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { startFakeIpOperator } from "../../../../test/support/fake-ip-operator.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import { readJsonRecording } from "../../../../test/support/recordings.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { createSimulatedCluster } from "../../../box/cluster/simulated-kube.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { Kube } from "../../../kube/kube.ts";
import { parseAddress } from "../../../market/address.ts";
import { realClock } from "../../../runtime/clock.ts";
import { silentLog } from "../../../runtime/log.ts";
import { addressesOldMs, addressesPollMs, createAddressPool } from "./address-pool.ts";
import { addressesAnswerBytes, addressesAnswerMs, createGet, createIpOperator, type Get } from "./ip-operator.ts";

const owner = parseAddress("akash1yhsycm64jqyq0wwpgcmwuuse55u5ajuv0w6vny");
const noKube = new Promise<Kube>(() => undefined);

async function stage(t: Owner, total?: number) {
  const operator = await startFakeIpOperator(t, total);
  const clock = createVirtualClock();
  const endpoint = { host: "127.0.0.1", port: operator.port };
  const get = createGet({ endpoint, inCluster: false, kube: noKube }, clock);
  const leased = new Set<string>();
  const pool = createAddressPool({
    operator: createIpOperator(get),
    leased: () => leased,
    provider: owner,
    clock,
    log: silentLog,
  });
  const stopping = new AbortController();
  const running = pool.run(stopping.signal);
  const stop = async () => {
    stopping.abort();
    await running;
  };
  t.after(stop);
  /** Lets one request be sent and answered. */
  const next = async () => {
    const { answers, errors } = pool.counts;
    await clock.advance(addressesPollMs);
    await eventually("the next answer", () => pool.counts.answers + pool.counts.errors > answers + errors);
  };
  return { operator, clock, pool, leased, next, stop };
}

test("free addresses are polled at once and periodically, and have an age", async (t) => {
  const { operator, clock, pool, next, stop } = await stage(t, 4);
  assert.equal(pool.error, "the IP operator has not reported how many addresses are free yet");
  assert.deepEqual([pool.usage, pool.free, pool.ageMs], [undefined, 0n, undefined]);
  await eventually("the first answer", () => pool.usage);
  assert.deepEqual([pool.usage, pool.free, pool.error], [{ total: 4n, inUse: 0n }, 4n, undefined]);
  await clock.advance(addressesPollMs - 1);
  assert.equal(pool.ageMs, addressesPollMs - 1);
  assert.deepEqual(operator.asked, ["/usage"]);
  operator.inUse = 3;
  await next();
  assert.equal(pool.free, 1n);
  await stop();
  assert.equal(clock.pendingTimers, 0);
});

test("a pool that was made smaller than what is in use has nothing free", async (t) => {
  const { operator, pool } = await stage(t, 2);
  operator.inUse = 5;
  await eventually("the answer", () => pool.usage);
  assert.equal(pool.free, 0n);
});

test("an operator that fails keeps its last answer for two minutes, and then nothing may be promised by it", async (t) => {
  const { operator, clock, pool, next } = await stage(t, 4);
  await eventually("the first answer", () => pool.usage);
  operator.fault = () => ({ status: 503, body: "" });
  await next();
  assert.equal(pool.lastError, "/usage was answered with HTTP 503");
  assert.equal(pool.error, undefined);
  while ((pool.ageMs ?? 0) <= addressesOldMs) await next();
  assert.equal(pool.error, "the IP operator has been silent for 125 s: /usage was answered with HTTP 503");
  assert.deepEqual(pool.usage, { total: 4n, inUse: 0n });
  operator.fault = () => undefined;
  await next();
  assert.deepEqual([pool.error, pool.lastError], [undefined, undefined]);
  assert.equal(clock.pendingTimers, 2);
});

test("invalid answers → an error, and polled again", async (t) => {
  const { operator, pool, next } = await stage(t);
  await eventually("the first answer", () => pool.lastError);
  assert.equal(pool.lastError, "/usage was answered with HTTP 204");
  const nonsense = [
    "",
    "null",
    "{}",
    '{"Available":-1,"InUse":0}',
    '{"Available":1.5,"InUse":0}',
    "<html>",
    "[".repeat(9_999),
  ];
  for (const body of nonsense) {
    operator.fault = () => ({ status: 200, body });
    await next();
    assert.match(pool.lastError ?? "", /^\/usage was answered with nonsense/, body);
  }
  operator.fault = () => ({ status: 200, body: "x".repeat(addressesAnswerBytes + 1) });
  await next();
  assert.match(pool.lastError ?? "", /longer than/);
  operator.fault = () => "cut";
  await next();
  assert.match(pool.lastError ?? "", /other side closed|socket hang up|ECONNRESET/);
  operator.fault = () => undefined;
  operator.total = 7;
  await next();
  assert.equal(pool.free, 7n);
});

test("no address is promised by an IP operator that serves another provider", async (t) => {
  const { operator, pool, next } = await stage(t);
  const usage = (provider: string) => () => ({
    status: 200,
    body: `{"Available":4,"InUse":0,"Provider":"${provider}"}`,
  });
  const other = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
  operator.fault = usage(other);
  await eventually("the first answer", () => pool.lastError);
  await next();
  assert.equal(
    pool.error,
    `the IP operator has not reported how many addresses are free yet: it serves ${other}, not ${owner}: correct its AP_PROVIDER`,
  );
  operator.fault = usage(owner);
  await next();
  assert.deepEqual([pool.error, pool.free], [undefined, 4n]);
});

test("an operator that hangs is left after a while", async (t) => {
  const { operator, clock, pool } = await stage(t, 4);
  await eventually("the first answer", () => pool.usage);
  operator.fault = () => "hang";
  await clock.advance(addressesPollMs);
  await eventually("the question", () => operator.asked.length === 2);
  await clock.advance(addressesAnswerMs);
  assert.equal(pool.lastError, `no whole answer within ${addressesAnswerMs} ms`);
});

test("a lease is confirmed by its distinct addresses, however many ports share one", async (t) => {
  const { operator, pool, leased, next } = await stage(t, 4);
  const [shared, two, none] = [`${owner}/1/1/1`, `${owner}/2/1/1`, `${owner}/3/1/1`];
  operator.leases.set(shared, ["172.30.0.202", "172.30.0.202", "172.30.0.202"]);
  operator.leases.set(two, ["172.30.0.201", "172.30.0.200"]);
  for (const order of [shared, two, none]) leased.add(order);
  await next();
  await eventually("all of them", () => pool.confirmed(none) !== undefined);
  assert.deepEqual([shared, two, none].map(pool.confirmed), [1n, 2n, 0n]);
  leased.delete(shared);
  await next();
  await eventually("it to be forgotten", () => pool.confirmed(shared) === undefined);
});

test("one lease fails → the others and the usage are still polled", async (t) => {
  const { operator, clock, pool, leased, next } = await stage(t, 4);
  const [pending, hanging, good] = [`${owner}/1/1/1`, `${owner}/2/1/1`, `${owner}/3/1/1`];
  operator.leases.set(pending, [undefined]);
  operator.leases.set(good, ["172.30.0.200"]);
  operator.fault = (path) => (path.endsWith(hanging) ? "hang" : undefined);
  for (const order of ["nonsense", pending, hanging, good]) leased.add(order);
  await next();
  await eventually("the good one", () => pool.confirmed(good));
  assert.deepEqual(
    [pool.confirmed(pending), pool.confirmed(hanging), pool.lastError],
    [undefined, undefined, undefined],
  );
  await clock.advance(addressesAnswerMs);
  await eventually("all three", () => pool.counts.leaseErrors === 3);
  operator.leases.set(pending, ["172.30.0.203"]);
  operator.fault = () => undefined;
  await next();
  await eventually("the others", () => pool.confirmed(pending) === 1n && pool.confirmed(hanging) === 0n);
});

test("addresses are not leased → an error that says so, and no requests", async () => {
  const deps = { leased: () => [], provider: owner, clock: createVirtualClock(), log: silentLog };
  const pool = createAddressPool({ ...deps, operator: undefined });
  assert.match(pool.error ?? "", /--ip-operator is off/);
  assert.equal(pool.free, 0n);
});

test("without an address in the settings the operator is found by its Service", async (t) => {
  const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };
  const cluster = createSimulatedCluster({ nodes: [] }, deps);
  const kube = cluster.connect("akash-provider");
  t.after(() => cluster.close());
  const get = createGet({ endpoint: undefined, inCluster: true, kube: Promise.resolve(kube) }, realClock);
  const ask = () => get("/usage", new AbortController().signal);
  await assert.rejects(ask(), /the IP operator was not found: there is no Service operator-ip in akash-services/);
  cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  const metadata = { name: "operator-ip", namespace: "akash-services" };
  const ports = [{ name: "web", port: 8086 }];
  cluster.server.create(kinds.service, { metadata, spec: { ports } }, "test");
  await assert.rejects(ask(), /the Service operator-ip in akash-services has no port named rest/);
});

test("outside the cluster → requests go through the API server", async (t) => {
  const clock = createVirtualClock();
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const node = { name: "one", cpuMilli: 4_000n, memoryBytes: 2n ** 33n, ephemeralBytes: 2n ** 36n };
  const http = ({ path }: { path: string }) => ({
    status: path === "/usage" ? 200 : 404,
    body: '{"Available":9,"InUse":2}',
  });
  const cluster = createSimulatedCluster({ nodes: [node], behaviour: () => ({ http }) }, deps);
  t.after(() => cluster.close());
  cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  const metadata = { name: "operator-ip", namespace: "akash-services", labels: { app: "ip" } };
  const container = { name: "operator-ip", image: "ip", ports: [{ name: "rest", containerPort: 8086 }] };
  cluster.server.create(kinds.pod, { metadata, spec: { containers: [container] } }, "test");
  const ports = [{ name: "rest", port: 8086, targetPort: "rest" }];
  cluster.server.create(kinds.service, { metadata, spec: { selector: { app: "ip" }, ports } }, "test");
  const kube = Promise.resolve(cluster.connect("akash-provider"));
  const operator = createIpOperator(createGet({ endpoint: undefined, inCluster: false, kube }, clock));
  // Until the pod runs.
  await clock.advance(30_000);
  const usage = await advanceUntilSettled(clock, operator.usage(new AbortController().signal));
  assert.deepEqual(usage, { total: 9n, inUse: 2n });
});

interface Recorded {
  readonly vectors: readonly {
    readonly name: string;
    readonly request: { readonly method: string; readonly path: string };
    readonly answer: { readonly status: number; readonly body: string };
  }[];
}

test("every recorded answer of the Go provider's IP operator is read, or rejected with a reason", async () => {
  const { vectors } = readJsonRecording<Recorded>("operators/ip.json");
  const { signal } = new AbortController();
  const reads = vectors.filter(({ request }) => request.method === "GET");
  let understood = 0;
  for (const { name, request, answer } of reads) {
    const get: Get = async () => answer;
    const operator = createIpOperator(get);
    if (request.path === "/usage") {
      if (answer.status !== 200) await assert.rejects(operator.usage(signal), /HTTP/, name);
      else {
        const { total, inUse } = await operator.usage(signal);
        assert.ok(total >= inUse && total > 0n, name);
        understood += 1;
      }
    }
    if (/^\/ip-lease-status\/\w+\/\d+\/\d+\/\d+$/.test(request.path)) {
      const addresses = answer.body.match(/(?<="IP":")[^"]+/g) ?? [];
      const ports = operator.portsOf(`${owner}/1/1/1`, signal);
      if (answer.status > 204) await assert.rejects(ports, /HTTP/, name);
      else
        assert.deepEqual(
          Array.from(await ports, ({ address }) => address),
          [...addresses],
          name,
        );
      understood += 1;
    }
  }
  assert.ok(understood >= 10);
});
