import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateKube } from "../../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import type { Behaviours } from "../../../box/cluster/components/kubelet/behaviour.ts";
import { kinds } from "../../../kube/kinds.ts";
import { managedSelector, serviceLabel } from "../../../kube/objects/lease-labels.ts";
import type { Address } from "../../../market/address.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createLeasePods } from "../../capacity/reservations/lease-watches.ts";
import { createLeaseLogs, createPodNews } from "./lease-logs.ts";

const lease = {
  owner: "akash1tenant" as Address,
  provider: "akash1provider" as Address,
  ...{ dseq: 1n, gseq: 1, oseq: 1, bseq: 0 },
};
const namespace = leaseNamespace(lease);
const node = { name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 36n };
const quick = { pullMs: 0, startMs: 0, stopMs: 0 };

async function stage(owner: Owner, behaviour: Behaviours) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock, nodes: [node], behaviour });
  cluster.server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
  const kube = cluster.connect("akash-provider");
  const pods = createLeasePods(kube);
  const logs = createLeaseLogs(kube, pods, createPodNews(pods));
  const stopping = new AbortController();
  owner.after(() => stopping.abort());
  const opening = pods.open({
    signal: stopping.signal,
    onStop: (stop) => owner.after(async () => void (await stop())),
  });
  await clock.advance(1_000);
  await opening;

  function run(service: string, name = `${service}-0`): void {
    const [label = "", value = ""] = managedSelector.split("=");
    const labels = { [label]: value, [serviceLabel]: service };
    const containers = [{ name: service, image: `nowhere.example/${service}:1` }];
    cluster.server.create(kinds.pod, { metadata: { namespace, name, labels }, spec: { containers } }, "test");
  }

  /** What is read, as "pod: line", while it is. */
  function read(
    request: { services?: string[]; follow?: boolean; tail?: number } = {},
    taken: () => Promise<void> | undefined = () => undefined,
  ) {
    const lines: string[] = [];
    const stop = new AbortController();
    const services = request.services && new Set(request.services);
    const options = { services, follow: request.follow ?? true, tail: request.tail, signal: stop.signal };
    const reading = (async () => {
      for await (const batch of logs.logs(lease, options)) {
        lines.push(...batch.map(({ pod, text }) => `${pod}: ${text}`));
        await taken();
      }
    })();
    return { lines, of: (pod: string) => lines.filter((line) => line.startsWith(`${pod}: `)), stop, reading };
  }

  return { clock, cluster, run, read };
}

function numbered(pod: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${pod}: line ${n}`);
}

test("numbered lines come each once and in their order over an API server that restarts and a pod that does", async (t) => {
  /** Each of its processes goes on counting where the one before it stopped. */
  const ofProcess = 358;
  const { clock, cluster, run, read } = await stage(t, (_, { restarts }) => ({
    ...{ ...quick, logEveryMs: 70, exitAfterMs: 70 * ofProcess - 1, exitCode: 1 },
    logs: (n) => `line ${restarts * ofProcess + n}`,
  }));
  run("web");
  await clock.advance(1_000);
  const { lines, stop, reading } = read();
  const away = async (ms: number) => {
    cluster.faults.cutWatches();
    cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    cluster.faults.cutLogs();
    await clock.advance(ms);
    cluster.faults.clear();
  };
  await clock.advance(5_000);
  await away(3_000);
  await clock.advance(5_000);
  cluster.faults.endLogs();
  // Its process ends, and the next one begins, while the API server is away.
  await clock.advance(9_000);
  await away(6_000);
  // The one after that ends while it is followed, and while it waits to be started again nobody can be request.
  await clock.advance(18_000);
  await away(8_000);
  // And another one ends and begins again while it is followed.
  await clock.advance(120_000);
  stop.abort();
  await reading;
  assert.ok(lines.length > 3 * ofProcess, `${lines.length} lines`);
  assert.deepEqual(lines, numbered("web-0", lines.length));
});

test("a pod that cannot start ends no other log, and a later one is read from its first line", async (t) => {
  const lines = (n: number) => (n < 3 ? `line ${n}` : undefined);
  const { clock, run, read } = await stage(t, (image) => ({ ...quick, logs: lines, missing: /bad/.test(image) }));
  run("bad");
  run("web");
  await clock.advance(5_000);
  const toTheEnd = read({ follow: false });
  await clock.advance(1_000);
  await toTheEnd.reading;
  assert.deepEqual(toTheEnd.lines, numbered("web-0", 3));

  const followed = read({ tail: 1 });
  await clock.advance(1_000);
  run("web", "web-1");
  await clock.advance(1_000);
  assert.deepEqual(followed.lines, ["web-0: line 2", ...numbered("web-1", 3)]);
  followed.stop.abort();
  await followed.reading;
});

test("a pod that goes ends with its last line, and what follows waits for its successor", async (t) => {
  const { clock, cluster, run, read } = await stage(t, () => ({
    ...quick,
    logs: (n) => `line ${n}`,
    logEveryMs: 1_000,
  }));
  run("web");
  await clock.advance(2_500);
  const { of, stop, reading } = read();
  await clock.advance(1_000);
  cluster.server.delete(kinds.pod, { namespace, name: "web-0" });
  await clock.advance(60_000);
  const { length } = of("web-0");
  assert.ok(length >= 4);
  assert.deepEqual(of("web-0"), numbered("web-0", length));
  run("web");
  await clock.advance(2_500);
  assert.deepEqual(of("web-0").slice(length), numbered("web-0", 3));
  stop.abort();
  await reading;
});

test("services are read by name, and their tails alone; a tail of nothing is what comes from now on", async (t) => {
  const { clock, cluster, run, read } = await stage(t, () => ({ ...quick, logs: (n) => `line ${n}`, logEveryMs: 400 }));
  for (const service of ["api", "web"]) run(service);
  await clock.advance(2_100);
  const tail = read({ services: ["web"], tail: 2, follow: false });
  const fromNow = read({ services: ["api"], tail: 0 });
  await clock.advance(0);
  await tail.reading;
  assert.deepEqual(tail.lines, ["web-0: line 4", "web-0: line 5"]);
  // What it prints while the stream is away is what comes from then on, too.
  cluster.faults.reject({ status: 503, times: 5, path: "/log" });
  cluster.faults.cutLogs();
  await clock.advance(30_000);
  fromNow.stop.abort();
  await fromNow.reading;
  assert.deepEqual(fromNow.lines, numbered("api-0", 6 + fromNow.lines.length).slice(6));
  assert.ok(fromNow.lines.length > 60);
});

test("a silent node → the logs of other pods are read to their end, then the error is thrown", async (t) => {
  const { clock, cluster, run, read } = await stage(t, () => ({
    ...quick,
    logs: (n) => (n < 2 ? `line ${n}` : undefined),
  }));
  for (const service of ["api", "web"]) run(service);
  await clock.advance(2_000);
  cluster.faults.reject({ status: 500, path: "/pods/api-0/log", times: Number.POSITIVE_INFINITY });
  const { lines, reading } = read({ follow: false });
  const rejected = assert.rejects(reading, (thrown) => ProviderError.is(thrown, "AKP_KUBE_FAILED"));
  await clock.advance(120_000);
  await rejected;
  assert.deepEqual(lines, numbered("web-0", 2));
});

test("who reads slowly holds back what is printed, and misses nothing of it", async (t) => {
  const long = "x".repeat(1_000);
  const { clock, run, read } = await stage(t, () => ({
    ...{ ...quick, logEveryMs: 10, exitAfterMs: 10 * 500 - 1, exitCode: 0 },
    logs: (n) => `line ${n} ${long}`,
  }));
  run("web");
  await clock.advance(100);
  let takeMore: () => void = () => undefined;
  const { lines, stop, reading } = read({}, () => new Promise<void>((resolve) => (takeMore = resolve)));
  await clock.advance(4_900);
  assert.ok(lines.length < 100, `${lines.length} lines taken`);
  while (lines.length < 500) {
    takeMore();
    await clock.advance(10);
  }
  stop.abort();
  takeMore();
  await reading;
  const wrong = lines.findIndex((line, n) => line !== `web-0: line ${n % 500} ${long}`);
  assert.equal(wrong, -1, `line ${wrong} is ${lines[wrong]?.slice(0, 30)}`);
});
