/** Whatever happens to the wire, a watch ends up with what is there, and its handler is led there forwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kubeStaleMs } from "../../src/kube/client/list-watch.ts";
import { kubeBelievedMs } from "../../src/kube/client/watch-stream.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Change, Kube, WatchCache } from "../../src/kube/kube.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { namespace, simulateKube } from "../support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

const anyName = fc.integer({ min: 0, max: 7 }).map((n) => `map-${n}`);
const anyEdit = fc.record({ do: fc.constantFrom("put", "put", "remove"), name: anyName });
const anyStep = fc.oneof(
  { weight: 6, arbitrary: anyEdit },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("breathe", "wait") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("cut", "compact", "freeze", "end") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reject"), status: fc.constantFrom(429, 500, 503, 410) }) },
  // The watch is dead, things happen, and then the past is gone.
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lose"), edits: fc.array(anyEdit, { maxLength: 6 }) }) },
);
type Step = { do: string; name?: string; status?: number; edits?: Step[] };

/** A cluster, a client of it, and the way to cut what lies between them. */
interface Line {
  readonly cluster: SimulatedCluster;
  readonly kube: Kube;
  cut(): void;
}

type Connect = (owner: Owner, clock: VirtualClock, seed: number) => Promise<Line>;

const within: Connect = async (owner, clock, seed) => {
  const cluster = simulateKube(owner, { clock, seed });
  return { cluster, kube: cluster.connect("akash-provider"), cut: cluster.faults.cutWatches };
};

const overHttp: Connect = async (owner, clock, seed) => {
  const cluster = simulateKube(owner, { clock, seed });
  const face = await startKubeHttpServer(owner, cluster);
  const kubeconfig = face.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock, random: createSeededRandom(seed), log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return { cluster, kube, cut: face.cut };
};

function put({ server }: SimulatedCluster, name: string, text: string): number {
  const object = { metadata: { namespace, name, labels: { ours: "" } }, data: { text } };
  const isThere = server.get(kinds.configMap, object.metadata) !== undefined;
  const now = isThere ? server.update(kinds.configMap, object, "test") : server.create(kinds.configMap, object, "test");
  return Number(now.metadata.resourceVersion);
}

async function take(step: Step, at: number, line: Line, clock: VirtualClock): Promise<void> {
  const { name = "", status = 500, edits = [] } = step;
  const { server, faults } = line.cluster;
  if (step.do === "put") put(line.cluster, name, String(at));
  if (step.do === "remove") server.delete(kinds.configMap, { namespace, name });
  if (step.do === "reject") faults.reject({ status });
  if (step.do === "freeze" || step.do === "lose") faults.silenceWatches();
  for (const [index, edit] of edits.entries()) await take(edit, at + index / 10, line, clock);
  if (step.do === "compact" || step.do === "lose") faults.forgetPast();
  if (step.do === "cut" || step.do === "lose") line.cut();
  if (step.do === "end") faults.endWatches();
  if (step.do === "goBack") faults.goBack(5);
  if (step.do === "breathe") await clock.settle();
  if (step.do === "wait") await clock.advance(3_000);
}

function watchOurs({ kube }: Line) {
  const changes: Change<number>[] = [];
  const cache = kube.watch({
    kind: kinds.configMap,
    labelSelector: "ours",
    project: ({ metadata }) => Number(metadata.resourceVersion),
    handle: (change) => void changes.push(change),
  });
  return { cache, changes };
}

for (const [where, connect] of [
  ["within the process", within],
  ["over HTTP", overHttp],
] as const) {
  test(`through random cuts, lost pasts, rejections, dead watches and pages, the cache ends as the server is, shows all up to its version, and no object goes backwards, ${where}`, async () => {
    const property = fc.asyncProperty(
      fc.array<Step>(anyStep, { minLength: 10, maxLength: 60 }),
      fc.integer(),
      async (steps, seed) => {
        await using owner = createOwner();
        const clock = createVirtualClock();
        const line = await connect(owner, clock, seed);
        line.cluster.faults.smallPages(3);
        const { cache, changes } = watchOurs(line);
        for (const [at, step] of steps.entries()) {
          await take(step, at, line, clock);
          assertShowsItsVersion(cache, line.cluster);
        }
        const last = put(line.cluster, "last", "");
        await eventually("the last one", async () => {
          await clock.advance(2_000);
          return cache.get({ namespace, name: "last" }) === last;
        });
        assert.ok(Number(cache.version) >= last);
        const there = serverState(line.cluster);
        assert.deepEqual(new Set(cache.list()), new Set(there.values()));
        assert.deepEqual(replay(changes), there);
      },
    );
    await fc.assert(property, { numRuns: runs(10, 200) });
  });
}

test("through versions that go back as well, the cache ends as the server is when its list is no longer believed", async () => {
  const anyStepOrBack = fc.oneof({ weight: 12, arbitrary: anyStep }, fc.record({ do: fc.constant("goBack") }));
  const property = fc.asyncProperty(
    fc.array<Step>(anyStepOrBack, { minLength: 10, maxLength: 60 }),
    fc.integer(),
    async (steps, seed) => {
      await using owner = createOwner();
      const clock = createVirtualClock();
      const line = await within(owner, clock, seed);
      line.cluster.faults.smallPages(3);
      // Not so far back that there is no namespace.
      await clock.settle();
      line.cluster.faults.forgetPast();
      const { cache, changes } = watchOurs(line);
      for (const [at, step] of steps.entries()) await take(step, at, line, clock);
      await clock.advance(1.2 * kubeBelievedMs + 2 * kubeStaleMs);
      const there = serverState(line.cluster);
      assert.deepEqual(new Set(cache.list()), new Set(there.values()));
      assert.deepEqual(replay(changes, { mayGoBack: true }), there);
      assert.equal(cache.error, undefined);
    },
  );
  await fc.assert(property, { numRuns: runs(10, 200) });
});

/** Whatever happened up to the version that it reports is in it. */
function assertShowsItsVersion(cache: WatchCache<number>, cluster: SimulatedCluster): void {
  for (const [name, version] of serverState(cluster)) {
    if (version <= Number(cache.version ?? 0)) assert.equal(cache.get({ namespace, name }), version);
  }
}

function serverState({ server }: SimulatedCluster): Map<string, number> {
  return new Map(
    server
      .list(kinds.configMap, { labelSelector: "ours" })
      .map(({ metadata }): [string, number] => [metadata.name, Number(metadata.resourceVersion)])
      .sort(),
  );
}

/** What another client knows who only heard the changes. A change that makes no sense to it is a fault. */
function replay(changes: readonly Change<number>[], { mayGoBack = false } = {}): Map<string, number> {
  const known = new Map<string, number>();
  const newest = new Map<string, number>();
  for (const { type, name, value } of changes) {
    assert.equal(known.has(name), type !== "added", `${type} ${name}`);
    if (type === "deleted") {
      known.delete(name);
      continue;
    }
    assert.ok(
      mayGoBack || value > (newest.get(name) ?? 0),
      `${name} went backwards from ${newest.get(name)} to ${value}`,
    );
    known.set(name, value);
    newest.set(name, value);
  }
  return new Map([...known].sort());
}
