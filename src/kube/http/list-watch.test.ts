import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/eventually.ts";
import { startFakeApi } from "../../../test/fake-apiserver.ts";
import { temporaryFolder } from "../../../test/folder.ts";
import { configMap } from "../../../test/kube.contract.ts";
import type { Owner } from "../../../test/owner.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import { kinds } from "../kinds.ts";
import type { Change } from "../kube.ts";
import { createHttpKube } from "./http-kube.ts";

/** True after it was asked so often. */
function createTurns(turns: number): () => boolean {
  let asked = 0;
  return () => ++asked > turns;
}

type Handle = (change: Change<string>) => void | Promise<void>;

/** A watch of config maps on a clock that stands until it is moved. */
async function stage(owner: Owner, { handle }: { handle?: Handle } = {}) {
  const clock = createVirtualClock();
  const api = await startFakeApi(owner, { clock });
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  const seen: string[] = [];
  const watch = () =>
    kube.watch({
      kind: kinds.configMap,
      project: (object) => (object["data"] as Record<string, string>)["n"] ?? "",
      async handle(change) {
        await handle?.(change);
        seen.push(`${change.type} ${change.name} ${change.value}`);
      },
    });
  const put = (name: string, n: string) => api.put("configmaps", configMap("lease", name, { n }));
  /** Moves time, though no further than this, until it is so; the wire is given the real time it needs. */
  const until = async (what: string, look: () => boolean, mostMs = 60_000) => {
    const deadlineMs = clock.monotonicMs() + mostMs;
    await eventually(what, async () => {
      if (!look() && clock.monotonicMs() < deadlineMs) await clock.advance(500);
      return look();
    });
  };
  return { clock, api, kube, watch, seen, put, until };
}

test("after 30 minutes in which nothing happened, the next event comes at once", async (t) => {
  const { api, watch, seen, put, clock } = await stage(t);
  const cache = watch();
  await eventually("the watch", () => api.watching === 1);
  for (let minutes = 0; minutes < 30; minutes += 0.5) {
    await clock.advance(30_000);
    await eventually("the watch again", () => api.watching === 1);
  }
  const beforeMs = clock.monotonicMs();
  put("late", "1");
  await eventually("the event", () => seen.length === 1);
  assert.equal(clock.monotonicMs(), beforeMs, "no time had to pass");
  assert.equal(cache.counts.relists, 0);
  assert.ok(cache.counts.bookmarks > 0);
  assert.equal(cache.counts.errors, 0);
});

test("a watch that is dead without a word is noticed within a minute, and nothing is missed", async (t) => {
  const { api, watch, seen, put, clock, until } = await stage(t);
  const cache = watch();
  await eventually("the watch", () => api.watching === 1);
  api.freeze();
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

test("a watch that is cut goes on where it was, without a list", async (t) => {
  const { api, watch, seen, put, clock } = await stage(t);
  const cache = watch();
  put("a", "1");
  await eventually("the first", () => seen.length === 1 && api.watching === 1);
  await clock.advance(2_000);
  api.cut();
  put("a", "2");
  await eventually("the second", () => seen.length === 2);
  assert.deepEqual(seen, ["added a 1", "modified a 2"]);
  assert.equal(cache.counts.lists, 1);
});

test("when the past is gone, the list is read anew and what went meanwhile is deleted, also what came again by the same name", async (t) => {
  const { api, watch, seen, put, clock, until } = await stage(t);
  for (const name of ["kept", "gone", "again"]) put(name, "1");
  const cache = watch();
  await cache.synced();
  await eventually("the watch", () => api.watching === 1);
  await clock.advance(2_000);
  seen.length = 0;
  api.freeze();
  put("kept", "2");
  api.remove("configmaps", "lease/gone");
  api.remove("configmaps", "lease/again");
  put("again", "2");
  api.compact();
  api.cut();
  // A version that is refused at once is a failure like another, and waits a moment.
  await until("the news", () => seen.length === 4, 5_000);
  assert.deepEqual(seen.toSorted(), ["added again 2", "deleted again 1", "deleted gone 1", "modified kept 2"]);
  assert.ok(seen.indexOf("deleted again 1") < seen.indexOf("added again 2"));
  assert.equal(cache.counts.relists, 1);
  assert.deepEqual([...cache.list()].toSorted(), ["2", "2"]);
});

test("a server whose past is always gone is not asked without end", async (t) => {
  const { api, watch, clock } = await stage(t);
  watch();
  await eventually("the watch", () => api.watching === 1);
  api.alwaysGone();
  await clock.advance(2_000);
  api.cut();
  const before = api.requests.length;
  for (let seconds = 0; seconds < 10; seconds += 1) {
    await clock.advance(1_000);
    // Real time for the wire: a client without a pause would ask hundreds of times meanwhile.
    await eventually("a little later", createTurns(5));
  }
  assert.ok(api.requests.length - before < 30, `${api.requests.length - before} requests in ten seconds`);
});

test("a change waits until the one before it was handled", async (t) => {
  const gate = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  const { watch, seen, put } = await stage(t, {
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
  const { watch, seen, put, until } = await stage(t, {
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
  const { watch, seen, put, until } = await stage(t, {
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

test("a kind that is not installed yet is waited for, and the watch says so meanwhile", async (t) => {
  const { api, watch, put, until } = await stage(t);
  api.hidden.add("configmaps");
  const cache = watch();
  await eventually("the trouble", () => ProviderError.is(cache.trouble, "AKP_KUBE_KIND_MISSING"));
  assert.match(cache.trouble?.message ?? "", /configmaps/);
  assert.equal(cache.ready, false);
  put("a", "1");
  api.hidden.delete("configmaps");
  await until("the list", () => cache.ready, 30_000);
  assert.equal(cache.size, 1);
  assert.equal(cache.trouble, undefined);
});

test("a forbidden verb is named with its resource, and works as soon as it is granted", async (t) => {
  const { api, watch, until } = await stage(t);
  api.forbidden.add("watch configmaps");
  const cache = watch();
  await eventually("the trouble", () => ProviderError.is(cache.trouble, "AKP_KUBE_FORBIDDEN"));
  assert.match(cache.trouble?.message ?? "", /forbids us to watch configmaps/);
  api.forbidden.clear();
  await until("the watch", () => cache.counts.connections === 1);
  assert.equal(cache.trouble, undefined);
});

test("a server that has too much to do is left alone for as long as it asks", async (t) => {
  const { api, watch, clock, until } = await stage(t);
  api.refuse({ status: 429, headers: { "retry-after": "7" } });
  const cache = watch();
  await eventually("the trouble", () => ProviderError.is(cache.trouble, "AKP_KUBE_BUSY"));
  await clock.advance(5_000);
  assert.equal(api.requests.length, 1);
  await until("the list", () => cache.ready, 10_000);
});

test("a watch that is closed asks for nothing more", async (t) => {
  const { api, watch, clock } = await stage(t);
  const cache = watch();
  await eventually("the watch", () => api.watching === 1);
  await cache.close();
  await eventually("its end", () => api.watching === 0);
  const { length } = api.requests;
  await clock.advance(600_000);
  assert.equal(api.requests.length, length);
});
