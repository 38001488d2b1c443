/** What the provider knows of host names, by an operator that a test plays over real gRPC. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { healthStartingMs } from "../../src/cluster/health/lease-health.ts";
import { createHostnameFeed, locateHostnameOperator } from "../../src/cluster/leases/declarations/hostname-feed.ts";
import { leaseRoutes } from "../../src/gateway/rest/lease-routes.ts";
import type { LeaseRequest } from "../../src/gateway/rest/route.ts";
import type { Kube } from "../../src/kube/kube.ts";
import type { RunningLease } from "../../src/kube/tenant-access.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { startOperatorGrpc } from "../../src/operators/serving/grpc.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { condition } from "../../src/runtime/condition.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import {
  operatorHostnameV1ServiceFile,
  operatorHostnameV1State,
  operatorHostnameV1Status,
} from "../../src/runtime/grpc/akash-proto.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { sampleLease } from "../support/samples/lease-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

type State = Parameters<typeof operatorHostnameV1State.encode>[0];

function named(hostname: string, state: string, health: string, why?: string): State["hostnames"][number] {
  return {
    ...{ hostname, state, health, leaseId: { ...sampleLease, bseq: 0 }, namespace: "ns", service: "web" },
    ...{ externalPort: 80, route: "accepted", endpointsKnown: true, endpointsReady: 0, endpointsTotal: 1 },
    ...{ conditions: why === undefined ? [] : [condition("NoEndpoints", why)], changedAt: undefined },
  };
}

async function startPlayed(t: TestContext, waitingFor = "") {
  const sent: State[] = [];
  let wake = (): void => undefined;
  const service = "/akash.operator.hostname.v1.HostnameRPC";
  const counts = { served: 0, waiting: 0, refused: 0, unhealthy: 0 };
  const status = { waitingFor, leading: true, backend: "Traefik", ...counts };
  let statusRequests = 0;
  const getStatus = () => {
    statusRequests += 1;
    return { message: operatorHostnameV1Status.encode(status) };
  };
  const listener = await startOperatorGrpc({
    ...{ host: "127.0.0.1", port: 0, what: "test", file: operatorHostnameV1ServiceFile, serving: () => true },
    changed: (signal) => untilAborted(signal),
    methods: [
      [`${service}/GetStatus`, { kind: "unary", answer: getStatus }],
      [
        `${service}/StreamState`,
        {
          kind: "stream",
          async *answers(_, { signal }) {
            for (let at = 0; !signal.aborted; at++) {
              while (at >= sent.length && !signal.aborted) {
                await new Promise<void>((resolve) => {
                  wake = resolve;
                  signal.addEventListener("abort", () => resolve(), { once: true });
                });
              }
              const next = sent[at];
              if (next) yield operatorHostnameV1State.encode(next);
            }
          },
        },
      ],
    ],
    clock: realClock,
    log: silentLog,
  });
  let isOver = false;
  const close = async () => {
    if (!isOver) await listener.close();
    isOver = true;
  };
  t.after(close);
  return {
    port: listener.port,
    close,
    say(state: Partial<State>): void {
      sent.push({ whole: false, hostnames: [], gone: [], settled: true, ...state });
      wake();
    },
    /** Number of status requests. */
    get statusRequests() {
      return statusRequests;
    },
    waitsFor(what: string): void {
      status.waitingFor = what;
    },
  };
}

/** The wire is real: a call on it is given the turns of the event loop that it takes before time reaches its deadline. */
async function pass(clock: VirtualClock, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= 1_000) {
    await clock.advance(Math.min(leftMs, 1_000));
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Lets time pass until it is so. */
async function until(what: string, clock: VirtualClock, isSo: () => boolean): Promise<void> {
  await eventually(what, async () => {
    if (isSo()) return true;
    await pass(clock, 1_000);
    return false;
  });
}

function follow(t: TestContext, clock: Clock, at: () => { readonly port: number }) {
  const locate = async () => ({ host: "127.0.0.1", port: at().port });
  const feed = createHostnameFeed({ locate, clock, random: createSeededRandom(1), log: silentLog });
  const stopping = new AbortController();
  const running = feed.run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  return feed;
}

const hostsOf = (healths: Iterable<{ readonly host: string }>) => Array.from(healths, ({ host }) => host);

test("states follow the operator; names that stay unhealthy are reported, and none while it is away", async (t) => {
  const clock = createVirtualClock();
  const operator = await startPlayed(t);
  const feed = follow(t, clock, () => operator);
  assert.deepEqual(
    [feed.of("a.example.com"), feed.error],
    [undefined, undefined],
    "no error before the first connection",
  );
  const [a, b] = [named("a.example.com", "served", "healthy"), named("b.example.com", "served", "unhealthy", "0 of 1")];
  operator.say({ whole: true, settled: false, hostnames: [a] });
  operator.say({ hostnames: [b, named("c.example.com", "waiting", "unknown", "no such service")] });
  await eventually("all are known", () => feed.of("c.example.com"));
  assert.deepEqual(
    ["a", "b", "c"].map((name) => feed.of(`${name}.example.com`)?.health),
    ["healthy", "unhealthy", "waiting"],
  );
  assert.equal(feed.of("b.example.com")?.lease, formatLeaseId(sampleLease));
  assert.match(feed.of("b.example.com")?.why ?? "", /NoEndpoints: 0 of 1/);
  assert.deepEqual(feed.unhealthy(), []);
  await pass(clock, healthStartingMs - 1_000);
  operator.say({ hostnames: [named("c.example.com", "served", "healthy")], gone: ["a.example.com"] });
  await eventually("changes are known", () => feed.of("c.example.com")?.health === "healthy");
  assert.equal(feed.of("a.example.com"), undefined);
  await pass(clock, 2_000);
  assert.deepEqual(
    feed.unhealthy().map(({ host }) => host),
    ["b.example.com"],
  );
  await operator.close();
  await eventually("the lost connection", () => feed.error);
  assert.deepEqual([feed.of("b.example.com"), feed.unhealthy(), [...feed.all()]], [undefined, [], []]);
});

test("an operator that loses the cluster clears no condition, and its reason is shown", async (t) => {
  const clock = createVirtualClock();
  const operator = await startPlayed(t);
  const feed = follow(t, clock, () => operator);
  const names = ["served", "waiting"].map((state) => named(`${state}.example.com`, state, "unhealthy", "0 of 1"));
  operator.say({ whole: true, hostnames: [named("well.example.com", "served", "healthy"), ...names] });
  await eventually("all are known", () => feed.of("waiting.example.com"));
  await pass(clock, healthStartingMs);
  assert.deepEqual(hostsOf(feed.unhealthy()), ["served.example.com", "waiting.example.com"]);
  assert.equal(feed.error, undefined);

  operator.waitsFor("ingresses are not followed");
  const unseen = (host: string) => named(host, "served", "unknown", "ingresses are not followed");
  operator.say({ hostnames: [unseen("well.example.com"), unseen("served.example.com")] });
  await eventually("it is doubted", () => feed.of("served.example.com")?.health === "unknown");
  assert.deepEqual(hostsOf(feed.unhealthy()), ["served.example.com", "waiting.example.com"]);
  await until("the error", clock, () => feed.error !== undefined);
  assert.equal(feed.error, "the hostname operator does not see the cluster: ingresses are not followed");

  operator.waitsFor("");
  operator.say({ hostnames: [named("served.example.com", "served", "healthy")] });
  operator.say({ hostnames: [named("waiting.example.com", "served", "unknown")] });
  await eventually("it is served", () => feed.of("waiting.example.com")?.health === "unknown");
  assert.deepEqual(feed.unhealthy(), [], "a healthy or served name is no longer unhealthy");
  await until("it sees again", clock, () => feed.error === undefined);
});

test("names without a report of their controller count as unserved after a while, unless the operator lost the cluster", async (t) => {
  const clock = createVirtualClock();
  const operator = await startPlayed(t);
  const feed = follow(t, clock, () => operator);
  operator.say({ whole: true, hostnames: [named("a.example.com", "served", "unknown")] });
  await eventually("it is known", () => feed.of("a.example.com"));
  assert.deepEqual(feed.unserved(), []);
  await pass(clock, healthStartingMs);
  assert.deepEqual([feed.unserved(), feed.unhealthy()], [["a.example.com"], []]);
  operator.waitsFor("ingresses are not followed");
  await until("its sight is doubted", clock, () => feed.unserved().length === 0);
  operator.waitsFor("");
  await until("it sees again", clock, () => feed.unserved().length === 1);
  operator.say({ hostnames: [named("a.example.com", "served", "healthy")] });
  await eventually("a controller has reported", () => feed.unserved().length === 0);
});

test("an operator that was never found is reported as missing, unless it is the Go provider's", async () => {
  for (const isOther of [false, true]) {
    const clock = createVirtualClock();
    const reason = "there is no Service operator-hostname";
    const error = new ProviderError("AKP_OPERATOR_NOT_FOUND", {
      operator: "hostname operator",
      reason,
      setting: "",
      isOther,
    });
    const deps = { clock, random: createSeededRandom(1), log: silentLog };
    const feed = createHostnameFeed({ ...deps, locate: () => Promise.reject(error) });
    const stopping = new AbortController();
    const running = feed.run(stopping.signal);
    await clock.advance(healthStartingMs / 2);
    assert.equal(feed.missing, undefined);
    await clock.advance(healthStartingMs);
    assert.deepEqual([feed.missing, feed.error], [isOther ? undefined : error.message, undefined]);
    stopping.abort();
    await clock.advance(0);
    await running;
  }
});

test("a short loss of the cluster is not reported", async (t) => {
  const clock = createVirtualClock();
  const operator = await startPlayed(t);
  const feed = follow(t, clock, () => operator);
  operator.say({ whole: true });
  await eventually("it is followed", () => feed.isConnected);
  operator.waitsFor("a connection that is made again");
  await until("a status request", clock, () => operator.statusRequests === 2);
  operator.waitsFor("");
  await until("another status request", clock, () => {
    assert.equal(feed.error, undefined);
    return operator.statusRequests === 3;
  });
});

test("a restarted operator that has not read the cluster clears no condition", async (t) => {
  const clock = createVirtualClock();
  const [host, gone] = ["b.example.com", "gone.example.com"];
  let operator = await startPlayed(t);
  const feed = follow(t, clock, () => operator);
  const bad = named(host, "served", "unhealthy", "0 of 1");
  operator.say({ whole: true, hostnames: [bad, named(gone, "served", "unhealthy")] });
  await eventually("they are known", () => feed.of(host));
  await pass(clock, healthStartingMs);
  // The second time it dies before its first message.
  for (const _ of [1, 2]) {
    await operator.close();
    await eventually("the lost connection", () => !feed.isConnected && feed.error);
    operator = await startPlayed(t, "the cluster has not been read yet");
    operator.say({ whole: true });
    await until("it is followed again", clock, () => {
      assert.notEqual(feed.error, undefined);
      return feed.isConnected;
    });
    assert.match(feed.error ?? "", /does not see the cluster: the cluster has not been read yet/);
    assert.deepEqual(hostsOf(feed.unhealthy()), [host, gone]);
  }
  operator.waitsFor("");
  operator.say({ hostnames: [bad] });
  await eventually("the name is reported again", () => feed.of(host));
  assert.ok(hostsOf(feed.unhealthy()).includes(host), "unhealthy since the first report");
  assert.ok(hostsOf(feed.unhealthy()).includes(gone), "the operator may not have checked it yet");
  await until("a name that is not reported is removed", clock, () => hostsOf(feed.unhealthy()).join() === host);
  assert.equal(feed.error, undefined);
});

test("an operator that has not read the cluster yet has time to start", async (t) => {
  const clock = createVirtualClock();
  const operator = await startPlayed(t, "the cluster has not been read yet");
  const feed = follow(t, clock, () => operator);
  operator.say({ whole: true });
  await eventually("it is followed", () => feed.isConnected);
  assert.equal(feed.error, undefined);
  await pass(clock, healthStartingMs);
  assert.match(feed.error ?? "", /does not see the cluster/);
});

test("an operator without a stream is reported after a while, an absent one never", async (t) => {
  const clock = createVirtualClock();
  const errorWith = async (at: () => { readonly port: number }) => {
    const feed = follow(t, clock, at);
    await clock.advance(0);
    assert.equal(feed.error, undefined);
    await pass(clock, healthStartingMs);
    return feed.error;
  };
  const closed = { port: 1 };
  assert.match((await errorWith(() => closed)) ?? "", /is not followed/);
  const absent = () => {
    throw new Error("there is no Service");
  };
  assert.equal(await errorWith(absent), undefined);
});

test("the operator is found by the setting, or in the cluster at its Service with a port for gRPC", async () => {
  const never = new AbortController().signal;
  const endpoint = { host: "10.0.0.5", port: 8081 };
  const kubeWith = (ports: unknown) =>
    Promise.resolve({
      get: async () =>
        ports && { metadata: { name: "operator-hostname", namespace: "akash-services" }, spec: { ports } },
    } as unknown as Kube);
  const find = (ports: unknown, inCluster = true) =>
    locateHostnameOperator({ endpoint: undefined, inCluster, kube: kubeWith(ports) }, never);
  assert.deepEqual(
    await locateHostnameOperator({ endpoint, inCluster: false, kube: kubeWith(undefined) }, never),
    endpoint,
  );
  const ports = [
    { name: "rest", port: 8080 },
    { name: "grpc", port: 8081 },
  ];
  assert.deepEqual(await find(ports), { host: "operator-hostname.akash-services.svc.cluster.local", port: 8081 });
  // As the network's own operator has it.
  await assert.rejects(find([{ name: "rest", port: 8080 }]), /has no port named grpc/);
  await assert.rejects(find(undefined), /there is no Service operator-hostname/);
  await assert.rejects(find(undefined, false), /there is no Service operator-hostname/);
});

test("lease status shows the state of host names of visible services beside the network's fields", async () => {
  const hostHealth = [
    { host: "a.example.com", service: "web", health: "healthy", why: "" },
    { host: "b.example.com", service: "api", health: "unhealthy", why: "NoEndpoints: 0 of 1" },
  ];
  const running: RunningLease = {
    ...{ state: "running", services: [], forwardedPorts: undefined, addresses: undefined, hostHealth, errors: [] },
  };
  const statusFor = async (shown: ReadonlySet<string> | undefined, lease: RunningLease) => {
    const [route] = leaseRoutes({ provider: sampleLease.provider, leases: { find: () => lease } });
    const request = { ...sampleLease, identity: { servicesOf: () => shown } } as unknown as LeaseRequest;
    assert.ok(route && "handle" in route);
    const answer = await route.handle(request as never);
    return JSON.parse(String((answer as { body: unknown }).body));
  };
  assert.deepEqual((await statusFor(undefined, running)).hostnames, [
    { hostname: "a.example.com", service: "web", health: "healthy" },
    { hostname: "b.example.com", service: "api", health: "unhealthy", message: "NoEndpoints: 0 of 1" },
  ]);
  assert.equal((await statusFor(new Set(["web"]), running)).hostnames.length, 1);
  const unknown = await statusFor(undefined, { ...running, hostHealth: [] });
  assert.deepEqual(Object.keys(unknown), ["services", "forwarded_ports", "ips"], "as the network's, to the last field");
});
