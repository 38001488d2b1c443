/** Servers that are not the ones they were. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { openClient } from "../../../test/support/kube/kube-client.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import type { SimulatedCluster } from "../../box/cluster/simulated-kube.ts";
import { kinds } from "../kinds.ts";
import type { KubeAnswer, SentRequest, Transport } from "./transport.ts";
import { kubeBelievedMs, kubeWatchMostMs } from "./watch-stream.ts";

const at = { namespace, name: "one" };

/** A watch of config maps on a cluster, and another cluster that takes its place behind the same address. */
function stage(owner: Owner) {
  const clock = createVirtualClock();
  const before = simulateKube(owner, { clock });
  const after = simulateKube(owner, { clock });
  let now = before.transport();
  let isReplaced = false;
  const transport: Transport = {
    send: (request) => (isReplaced && isAhead(request) ? silentWatch(request) : now.send(request)),
    exec: (pod, options) => now.exec(pod, options),
    forwardPort: () => Promise.reject(new Error("unused")),
    peer: () => now.peer(),
    rejected: () => now.rejected(),
    close: () => now.close(),
  };

  /** As a real server does: the watch is accepted, and reported nothing up to the version that it requested. */
  function isAhead({ verb, path }: SentRequest): boolean {
    return verb === "watch" && Number(queryOf(path).get("resourceVersion")) > versionOf(after);
  }

  async function silentWatch({ path }: SentRequest): Promise<KubeAnswer> {
    const body = new Readable({ read: () => undefined });
    clock.timer(Number(queryOf(path).get("timeoutSeconds")) * 1_000, () => body.push(null));
    return { status: 200, headers: {}, body, peer: await now.peer() };
  }

  function replace(): void {
    isReplaced = true;
    now = after.transport();
    before.faults.cutWatches();
  }

  const kube = openClient(transport, clock);
  owner.after(() => kube.close());
  const changes: string[] = [];
  const cache = kube.watch({
    kind: kinds.configMap,
    labelSelector: "ours",
    project: (object) => (object["data"] as Record<string, string>)["n"] ?? "",
    handle: ({ type, name, value }) => void changes.push(`${type} ${name} ${value}`),
  });
  return { clock, before, after, replace, cache, changes };
}

function put({ server }: SimulatedCluster, name: string, n: string): void {
  server.create(kinds.configMap, { metadata: { namespace, name, labels: { ours: "" } }, data: { n } }, "hand");
}

function versionOf({ server }: SimulatedCluster): number {
  const all = server.list(kinds.configMap, {});
  return Math.max(...all.map(({ metadata }) => Number(metadata.resourceVersion)));
}

function queryOf(path: string): URLSearchParams {
  return new URLSearchParams(path.split("?")[1]);
}

test("a server whose versions went back is noticed within a minute, and what it has is read anew", async (t) => {
  const { clock, before, after, replace, cache, changes } = stage(t);
  for (let n = 0; n < 100; n += 1) put(before, `old-${n}`, "1");
  put(after, "one", "restored");
  await cache.synced();
  await clock.advance(2_000);
  replace();
  await clock.advance(60_000);
  assert.deepEqual([...cache.list()], ["restored"]);
  assert.equal(cache.counts.relists, 1);
  assert.equal(changes.filter((change) => change.startsWith("deleted old")).length, 100);
  assert.equal(changes.at(-1), "added one restored");
  put(after, "two", "1");
  await eventually("the next change", () => cache.size === 2);
});

test("objects of another past are reported as changed even where uid and version are the same", async (t) => {
  const { clock, before, after, replace, cache, changes } = stage(t);
  put(before, "one", "before");
  for (let n = 0; n < 100; n += 1) put(before, `old-${n}`, "1");
  put(after, "one", "after");
  await cache.synced();
  await clock.settle();
  const [was, is] = [before, after].map(({ server }) => server.get(kinds.configMap, at)?.metadata);
  // Both were made by the same seed on the same clock.
  assert.deepEqual(is?.resourceVersion, was?.resourceVersion);
  assert.deepEqual(is?.uid, was?.uid);
  replace();
  await clock.advance(60_000);
  assert.equal(cache.get(at), "after");
  assert.equal(changes.at(-1), "modified one after");
});

test("a server that was replaced and is past our version by now fools no one for longer than a list is believed", async (t) => {
  const { clock, before, after, replace, cache } = stage(t);
  put(before, "old", "1");
  for (let n = 0; n < 100; n += 1) put(after, `new-${n}`, "1");
  await cache.synced();
  await clock.settle();
  replace();
  await clock.advance(1.2 * kubeBelievedMs + kubeWatchMostMs);
  assert.equal(cache.size, 100);
  assert.equal(cache.counts.relists, 1);
});
