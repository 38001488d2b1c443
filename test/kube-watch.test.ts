/** Whatever happens to the wire, a watch ends up with what is there, and its handler is led there forwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Change } from "../src/kube/kube.ts";
import { createVirtualClock, type VirtualClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { eventually } from "./eventually.ts";
import { type FakeApi, startFakeApi } from "./fake-apiserver.ts";
import { temporaryFolder } from "./folder.ts";
import { configMap } from "./kube.contract.ts";
import { createOwner } from "./owner.ts";
import { runs } from "./runs.ts";

const anyName = fc.integer({ min: 0, max: 7 }).map((n) => `map-${n}`);
const anyEdit = fc.record({ do: fc.constantFrom("put", "put", "remove"), name: anyName });
const anyStep = fc.oneof(
  { weight: 6, arbitrary: anyEdit },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("breathe", "wait") }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("cut", "compact", "freeze", "end") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("refuse"), status: fc.constantFrom(429, 500, 503, 410) }) },
  // The watch is dead, things happen, and then the past is gone.
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lose"), edits: fc.array(anyEdit, { maxLength: 6 }) }) },
);
type Step = { do: string; name?: string; status?: number; edits?: Step[] };

async function take(step: Step, api: FakeApi, clock: VirtualClock): Promise<void> {
  const { name = "", status = 500, edits = [] } = step;
  if (step.do === "put") api.put("configmaps", configMap("lease", name, { at: String(api.version) }));
  if (step.do === "remove") api.remove("configmaps", `lease/${name}`);
  if (step.do === "refuse") api.refuse({ status });
  if (step.do === "freeze" || step.do === "lose") api.freeze();
  for (const edit of edits) await take(edit, api, clock);
  if (step.do === "compact" || step.do === "lose") api.compact();
  if (step.do === "cut" || step.do === "lose") api.cut();
  if (step.do === "end") api.endStreams();
  if (step.do === "breathe") await clock.settle();
  if (step.do === "wait") await clock.advance(3_000);
}

test("through random cuts, lost pasts, refusals, dead watches and pages, the cache ends as the server is, and no object goes backwards", async () => {
  const property = fc.asyncProperty(
    fc.array<Step>(anyStep, { minLength: 10, maxLength: 60 }),
    fc.integer(),
    async (steps, seed) => {
      await using owner = createOwner();
      const clock = createVirtualClock();
      const api = await startFakeApi(owner, { clock, pageObjects: 3 });
      const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
      const deps = { clock, random: createSeededRandom(seed), log: silentLog };
      const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
      const changes: Change<number>[] = [];
      const cache = kube.watch({
        kind: kinds.configMap,
        project: ({ metadata }) => Number(metadata.resourceVersion),
        handle: (change) => void changes.push(change),
      });
      owner.after(() => kube.close());
      for (const step of steps) await take(step, api, clock);
      const last = api.put("configmaps", configMap("lease", "last", {}));
      await eventually("the last one", async () => {
        await clock.advance(2_000);
        return cache.get({ namespace: "lease", name: "last" }) === Number(last.metadata.resourceVersion);
      });
      const there = serverState(api);
      assert.deepEqual(new Set(cache.list()), new Set(there.values()));
      assert.deepEqual(replay(changes), there);
    },
  );
  await fc.assert(property, { numRuns: runs(25, 1_000) });
});

function serverState(api: FakeApi): Map<string, number> {
  return new Map(
    api
      .objects("configmaps")
      .map(({ metadata }): [string, number] => [metadata.name, Number(metadata.resourceVersion)])
      .sort(),
  );
}

/** What somebody knows who only heard the changes. A change that makes no sense to him is a fault. */
function replay(changes: readonly Change<number>[]): Map<string, number> {
  const known = new Map<string, number>();
  const newest = new Map<string, number>();
  for (const { type, name, value } of changes) {
    assert.equal(known.has(name), type !== "added", `${type} ${name}`);
    if (type === "deleted") {
      known.delete(name);
      continue;
    }
    assert.ok(value > (newest.get(name) ?? 0), `${name} went backwards from ${newest.get(name)} to ${value}`);
    known.set(name, value);
    newest.set(name, value);
  }
  return new Map([...known].sort());
}
