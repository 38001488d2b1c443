import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { definitionOf } from "../../../test/support/kube/kube-definition.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { kinds } from "../kinds.ts";
import type { Change, KubeObject } from "../kube.ts";
import { kubeHandlerMs } from "./cache.ts";
import { kubeStaleMs } from "./list-watch.ts";
import { kubePageObjects } from "./pages.ts";
import { kubeMissingKindMs } from "./served-groups.ts";

type Handle = (change: Change<string>) => void | Promise<void>;

/** A watch of config maps on a clock that stands until it is moved. */
function stage(owner: Owner, { handle, uncached = false }: { handle?: Handle; uncached?: boolean } = {}) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock });
  const { server, faults, counts } = cluster;
  const kube = cluster.connect("akash-provider");
  const seen: string[] = [];
  const watch = () =>
    kube.watch({
      kind: kinds.configMap,
      namespace,
      // The cluster puts one of its own into every namespace.
      labelSelector: "ours",
      uncached,
      project: (object) => (object["data"] as Record<string, string>)["n"] ?? "",
      async handle(change) {
        await handle?.(change);
        seen.push(`${change.type} ${change.name} ${change.value}`);
      },
    });
  function put(name: string, n: string): KubeObject {
    const object = { metadata: { namespace, name, labels: { ours: "" } }, data: { n } };
    const isThere = server.get(kinds.configMap, object.metadata) !== undefined;
    return isThere ? server.update(kinds.configMap, object, "hand") : server.create(kinds.configMap, object, "hand");
  }
  const remove = (name: string) => server.delete(kinds.configMap, { namespace, name });
  /** Moves time, though no further than this, until it is so. */
  const until = (what: string, look: () => boolean, mostMs = 60_000) =>
    clock.advanceUntil(look, mostMs).catch(() => assert.fail(`${what}: not within ${mostMs} ms`));
  return { clock, kube, watch, seen, put, remove, until, faults, counts, server };
}

test("after 30 minutes in which nothing happened, the next event comes at once", async (t) => {
  const { watch, seen, put, clock, counts } = stage(t);
  const cache = watch();
  await eventually("the watch", () => counts.watching === 1);
  for (let minutes = 0; minutes < 30; minutes += 0.5) {
    await clock.advance(30_000);
    await eventually("the watch again", () => counts.watching === 1);
  }
  const beforeMs = clock.monotonicMs();
  put("late", "1");
  await eventually("the event", () => seen.length === 1);
  assert.equal(clock.monotonicMs(), beforeMs, "no time had to pass");
  assert.equal(cache.counts.relists, 0);
  assert.ok(cache.counts.bookmarks > 0);
  assert.equal(cache.counts.errors, 0);
});

test("a dead connection is noticed within a minute, and no change is missed", async (t) => {
  const { watch, seen, put, clock, until, counts, faults } = stage(t);
  const cache = watch();
  await eventually("the watch", () => counts.watching === 1);
  faults.silenceWatches();
  put("missed", "1");
  const diedMs = clock.monotonicMs();
  await clock.advance(30_000);
  assert.deepEqual(seen, []);
  assert.ok(cache.ageMs >= 30_000);
  await until("the event", () => seen.length === 1);
  assert.equal(cache.counts.silences, 1);
  assert.ok(clock.monotonicMs() - diedMs <= 60_000);
  assert.equal(cache.counts.relists, 0);
});

test("a watch that was cut resumes without a list", async (t) => {
  const { watch, seen, put, clock, counts, faults } = stage(t);
  const cache = watch();
  put("a", "1");
  await eventually("the first", () => seen.length === 1 && counts.watching === 1);
  await clock.advance(2_000);
  faults.cutWatches();
  put("a", "2");
  await eventually("the second", () => seen.length === 2);
  assert.deepEqual(seen, ["added a 1", "modified a 2"]);
  assert.equal(cache.counts.lists, 1);
});

test("an uncached watch hands over all objects and changes, and all objects again after a relist", async (t) => {
  const { watch, seen, put, remove, until, faults } = stage(t, { uncached: true });
  put("old", "1");
  const cache = watch();
  await until("the list", () => seen.length === 1);
  put("old", "2");
  put("new", "1");
  remove("new");
  await until("the events", () => seen.length === 3);
  faults.cutWatches();
  put("old", "3");
  faults.forgetPast();
  await until("the list again", () => seen.length === 4);
  assert.deepEqual(seen, ["added old 1", "added old 2", "added new 1", "added old 3"]);
  assert.deepEqual([cache.size, cache.get({ namespace, name: "old" }), [...cache.list()]], [0, undefined, []]);
  assert.equal(cache.counts.relists, 1);
});

test("of a watch that keeps nothing each page of a list is handed over before the next is requested", async (t) => {
  const requests = new Map<string, number>();
  const { watch, put, until, counts } = stage(t, {
    uncached: true,
    handle: ({ name }) => void requests.set(name, counts.requests),
  });
  const objects = 2 * kubePageObjects + 1;
  for (let at = 0; at < objects; at += 1) put(`${at}`.padStart(6, "0"), "1");
  const cache = watch();
  await until("all", () => requests.size === objects && cache.ready);
  const before = [...new Set(requests.values())];
  assert.deepEqual(
    before,
    [1, 2, 3].map((page) => (before[0] ?? 0) + page - 1),
    "three pages, one after the other",
  );
  assert.equal(cache.counts.lists, 1);
});

test("when the past is gone, the list is read anew and what went meanwhile is deleted, also what came again by the same name", async (t) => {
  const { watch, seen, put, remove, clock, until, counts, faults } = stage(t);
  for (const name of ["kept", "gone", "again"]) put(name, "1");
  const cache = watch();
  await cache.synced();
  await eventually("the watch", () => counts.watching === 1);
  await clock.advance(2_000);
  seen.length = 0;
  faults.silenceWatches();
  put("kept", "2");
  remove("gone");
  remove("again");
  put("again", "2");
  faults.forgetPast();
  faults.cutWatches();
  // A version that is rejected at once is a failure like another, and waits a moment.
  await until("the news", () => seen.length === 4, 5_000);
  assert.deepEqual(seen.toSorted(), ["added again 2", "deleted again 1", "deleted gone 1", "modified kept 2"]);
  assert.ok(seen.indexOf("deleted again 1") < seen.indexOf("added again 2"));
  assert.equal(cache.counts.relists, 1);
  assert.deepEqual([...cache.list()].toSorted(), ["2", "2"]);
});

test("of a list that is read anew no one ever sees a part", async (t) => {
  const sizes = new Set<number>();
  const { watch, seen, put, remove, until, counts, faults, clock } = stage(t, {
    handle: () => void sizes.add(cache.size),
  });
  const names = (word: string) => Array.from({ length: 300 }, (_, n) => `${word}-${n}`);
  for (const name of names("old")) put(name, "1");
  const cache = watch();
  await cache.synced();
  await eventually("the watch", () => counts.watching === 1);
  await clock.advance(2_000);
  seen.length = 0;
  sizes.clear();
  faults.silenceWatches();
  for (const name of names("old")) remove(name);
  for (const name of names("new").slice(0, 200)) put(name, "1");
  faults.forgetPast();
  faults.cutWatches();
  await until("the news", () => seen.length === 500);
  assert.deepEqual([...sizes], [200]);
  assert.ok(seen.slice(0, 300).every((change) => change.startsWith("deleted old")));
});

test("a server whose versions are always expired is queried with pauses", async (t) => {
  const { watch, clock, counts, faults } = stage(t);
  watch();
  await eventually("the watch", () => counts.watching === 1);
  faults.rememberNothing();
  await clock.advance(2_000);
  faults.cutWatches();
  const before = counts.requests;
  await clock.advance(10_000);
  assert.ok(counts.requests > before);
  assert.ok(counts.requests - before < 30, `${counts.requests - before} requests in ten seconds`);
});

test("a change waits until the one before it was handled", async (t) => {
  const gate = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  const { watch, seen, put } = stage(t, {
    async handle() {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await gate.promise;
      atOnce -= 1;
    },
  });
  for (let n = 0; n < 20; n += 1) put(`map-${n}`, String(n));
  watch();
  await eventually("the first", () => atOnce === 1);
  assert.deepEqual(seen, []);
  gate.resolve();
  await eventually("all", () => seen.length === 20);
  assert.equal(most, 1);
});

test("a change whose handler fails is handed over again, and those behind it wait", async (t) => {
  let failures = 0;
  const { watch, seen, put, until } = stage(t, {
    handle({ name }) {
      if (name === "a" && failures < 2) {
        failures += 1;
        throw new Error("not now");
      }
    },
  });
  put("a", "1");
  put("b", "1");
  const cache = watch();
  await eventually("a failure", () => failures === 1);
  assert.deepEqual(seen, []);
  await until("both", () => seen.length === 2);
  assert.equal(failures, 2);
  assert.deepEqual(seen, ["added a 1", "added b 1"]);
  assert.equal(cache.counts.handlerErrors, 2);
});

test("a handler that always fails is reported and does not stop the others", async (t) => {
  const { watch, seen, put, until } = stage(t, {
    handle({ name }) {
      if (name === "a") throw new Error("never");
    },
  });
  put("a", "1");
  put("b", "1");
  const cache = watch();
  await eventually("a failure", () => cache.counts.handlerErrors === 1);
  await until("the other", () => seen.length === 1);
  assert.deepEqual(seen, ["added b 1"]);
  assert.equal(cache.get({ namespace: "lease", name: "a" }), "1");
});

test("a handler that never ends is left after its time, and what comes after it is seen", async (t) => {
  const { watch, seen, put, clock, counts } = stage(t, {
    handle: ({ name }) => (name === "a" ? new Promise<void>(() => undefined) : undefined),
  });
  const cache = watch();
  await eventually("the watch", () => counts.watching === 1);
  put("a", "1");
  put("b", "1");
  await clock.advance(kubeHandlerMs - 1);
  assert.deepEqual(seen, []);
  await clock.advance(1);
  assert.deepEqual(seen, ["added b 1"]);
  assert.equal(cache.counts.handlerErrors, 1);
  assert.equal(cache.error, undefined);
});

test("a cache that was not confirmed for a minute says so, and no longer when it is again", async (t) => {
  const { watch, put, clock, counts } = stage(t, { handle: () => new Promise<void>(() => undefined) });
  const cache = watch();
  await eventually("the watch", () => counts.watching === 1);
  for (const name of ["a", "b", "c", "d"]) put(name, "1");
  await clock.advance(kubeStaleMs);
  assert.equal(cache.error, undefined);
  await clock.advance(1);
  const { error } = cache as { error: Error | undefined };
  assert.ok(ProviderError.is(error, "AKP_KUBE_STALE"), String(error));
  assert.match(error.message, /configmaps was not confirmed by Kubernetes for more than 60 s/);
  await clock.advance(kubeHandlerMs);
  assert.equal(cache.error, undefined);
});

test("a watch can be closed while its handler hangs", async (t) => {
  const { watch, put, clock, counts } = stage(t, { handle: () => new Promise<void>(() => undefined) });
  put("a", "1");
  const cache = watch();
  await clock.settle();
  await cache.close();
  assert.equal(counts.watching, 0);
});

test("a kind that is not installed yet is waited for, and the watch says so meanwhile", async (t) => {
  const { kube, server, until } = stage(t);
  const cache = kube.watch({ kind: kinds.manifest, project: ({ metadata }) => metadata.name });
  await eventually("the error", () => ProviderError.is(cache.error, "AKP_KUBE_KIND_MISSING"));
  assert.match(cache.error?.message ?? "", /manifests\.akash\.network/);
  assert.equal(cache.ready, false);
  server.create(kinds.customResourceDefinition, definitionOf(kinds.manifest), "hand");
  server.create(kinds.manifest, { metadata: { namespace, name: "a" } }, "hand");
  await until("the list", () => cache.ready, 30_000);
  assert.deepEqual([...cache.list()], ["a"]);
  assert.equal(cache.error, undefined);
});

test("a watch whose definition goes begins again with the next one", async (t) => {
  const { kube, server, until } = stage(t);
  const definition = definitionOf(kinds.manifest);
  const install = () => {
    server.create(kinds.customResourceDefinition, definition, "hand");
    return server.create(kinds.manifest, { metadata: { namespace, name: "a" } }, "hand").metadata.uid;
  };
  const first = install();
  const cache = kube.watch({ kind: kinds.manifest, project: ({ metadata }) => metadata.uid });
  await eventually("the watch", () => cache.counts.connections === 1 && [...cache.list()][0] === first);
  server.delete(kinds.customResourceDefinition, definition.metadata);
  await until("the error", () => ProviderError.is(cache.error, "AKP_KUBE_KIND_MISSING"));
  assert.equal(cache.size, 0);
  const second = install();
  await until("the new one", () => [...cache.list()][0] === second);
  assert.equal(cache.error, undefined);
});

test("a server that knows a kind no more for a moment is requested again as after any other failure", async (t) => {
  const { watch, until, faults } = stage(t);
  faults.reject({ verb: "list", status: 404 });
  const cache = watch();
  await eventually("the error", () => ProviderError.is(cache.error, "AKP_KUBE_KIND_MISSING"));
  await until("the list", () => cache.ready, 1_000);
});

test("kinds that are not installed are requested at a slow pace, with one question for all of a group", async (t) => {
  const { kube, clock, counts } = stage(t);
  const missing = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];
  const caches = missing.map((kind) => kube.watch({ kind, project: ({ metadata }) => metadata.name }));
  await clock.settle();
  assert.equal(counts.requests, missing.length, "one list of each");
  await clock.advance(10 * kubeMissingKindMs);
  assert.equal(counts.requests, missing.length + 10);
  for (const { error } of caches) assert.match(error?.message ?? "", /akash\.network/);
});

test("a server that does not say what it offers is requested the list itself", async (t) => {
  const { kube, clock, server, faults, until } = stage(t);
  const cache = kube.watch({ kind: kinds.manifest, project: ({ metadata }) => metadata.name });
  await clock.settle();
  faults.reject({ verb: "get", status: 403, times: 1_000 });
  server.create(kinds.customResourceDefinition, definitionOf(kinds.manifest), "hand");
  await until("the list", () => cache.ready);
});

test("a forbidden verb is named with its resource, and works as soon as it is granted", async (t) => {
  const { watch, until, faults } = stage(t);
  faults.forbid("watch", kinds.configMap);
  const cache = watch();
  await eventually("the error", () => ProviderError.is(cache.error, "AKP_KUBE_FORBIDDEN"));
  assert.match(cache.error?.message ?? "", /forbids us to watch configmaps/);
  faults.allow("watch", kinds.configMap);
  await until("the watch", () => cache.counts.connections === 1);
  assert.equal(cache.error, undefined);
});

test("an overloaded server is not queried before its Retry-After", async (t) => {
  const { watch, clock, until, counts, faults } = stage(t);
  faults.reject({ status: 429, retryAfterSeconds: 7 });
  const cache = watch();
  await eventually("the error", () => ProviderError.is(cache.error, "AKP_KUBE_BUSY"));
  await clock.advance(5_000);
  assert.equal(counts.requests, 1);
  await until("the list", () => cache.ready, 10_000);
});

test("a list that shows the past is caught up with by the watch", async (t) => {
  const { watch, seen, put, clock, faults } = stage(t);
  // The cluster's own parts have written what they had to.
  await clock.settle();
  put("a", "1");
  put("b", "1");
  put("a", "2");
  faults.staleLists(1);
  const cache = watch();
  await clock.settle();
  assert.deepEqual(seen, ["added a 1", "added b 1", "modified a 2"]);
  assert.equal(cache.counts.lists, 1);
});

test("a list whose later pages are gone is read anew", async (t) => {
  const { watch, put, clock, until, faults } = stage(t);
  for (let n = 0; n < 600; n += 1) put(`map-${n}`, "1");
  faults.slow(100);
  const cache = watch();
  await clock.advance(150);
  // The first page has been read by now, and the second is on its way.
  put("map-0", "2");
  faults.forgetPast();
  faults.slow(0);
  await until("the list", () => cache.ready, 10_000);
  assert.equal(cache.size, 600);
  assert.equal(cache.counts.errors, 1);
  assert.equal(cache.get({ namespace, name: "map-0" }), "2");
});

test("a server that takes too long to accept a watch is requested again", async (t) => {
  const { watch, clock, faults, until } = stage(t);
  const cache = watch();
  await clock.settle();
  faults.slow(20_000);
  faults.endWatches();
  await until("the error", () => ProviderError.is(cache.error, "AKP_KUBE_UNREACHABLE"));
  assert.match(cache.error?.message ?? "", /no answer within 8000 ms/);
  faults.clear();
  await until("the watch", () => cache.error === undefined);
});

test("watches that break after every second event miss nothing", async (t) => {
  const { watch, seen, put, clock, faults } = stage(t);
  const cache = watch();
  await clock.settle();
  faults.cutWatchesAfter(2);
  for (let n = 0; n < 20; n += 1) put(`map-${n}`, String(n));
  await clock.advance(60_000);
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, n) => `added map-${n} ${n}`),
  );
  assert.ok(cache.counts.connections >= 10);
  assert.equal(cache.counts.relists, 0);
});

test("a closed watch sends no more requests", async (t) => {
  const { watch, clock, counts } = stage(t);
  const cache = watch();
  await eventually("the watch", () => counts.watching === 1);
  await cache.close();
  await eventually("its end", () => counts.watching === 0);
  const { requests } = counts;
  await clock.advance(600_000);
  assert.equal(counts.requests, requests);
});

test("relist replaces a wrong cache and hands over the missed changes", async (t) => {
  const { watch, seen, put, remove, until, faults } = stage(t);
  put("one", "1");
  put("gone", "1");
  const cache = watch();
  await until("the list", () => cache.size === 2 && cache.counts.connections === 1);
  faults.silenceWatches();
  remove("gone");
  put("one", "2");
  assert.equal(cache.get({ namespace, name: "one" }), "1", "no one has reported it");
  cache.relist("a test knows better");
  await until("what is there", () => cache.size === 1 && cache.error === undefined);
  assert.deepEqual(seen.slice(2), ["deleted gone 1", "modified one 2"]);
  assert.equal(cache.counts.relists, 1);
});
