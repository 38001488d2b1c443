import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { configMap } from "../../../test/support/kube/kube-objects.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kinds } from "../kinds.ts";

async function stage(owner: Owner) {
  const clock = createVirtualClock();
  const { connect, server, faults } = simulateKube(owner, { clock });
  const kube = connect("akash-provider");
  const cache = kube.watch({ kind: kinds.configMap, namespace, project: ({ data }) => data });
  await eventually("the watch", () => cache.counts.connections === 1);
  const put = async (n: string) => {
    const { object } = await kube.apply(kinds.configMap, configMap(namespace, "map", { n }));
    assert.ok(object?.metadata.resourceVersion);
    return object.metadata.resourceVersion;
  };
  return { clock, server, faults, cache, put };
}

const at = { namespace, name: "map" };

test("who waits for a version goes on when the cache shows it, however late that is", async (t) => {
  const { clock, faults, cache, put } = await stage(t);
  faults.lagWatches(5_000);
  const first = await put("1");
  const second = await put("2");
  let isSeen = false;
  const waiting = cache.seen(second).then(() => {
    isSeen = true;
  });
  await clock.advance(4_000);
  assert.equal(isSeen, false);
  await clock.advance(2_000);
  await waiting;
  assert.deepEqual(cache.get(at), { n: "2" });
  await cache.seen(first);
});

test("who waits for a version is reported when it no longer wants to, and when the watch ends", async (t) => {
  const { faults, cache, put } = await stage(t);
  faults.silenceWatches();
  const version = await put("1");
  const stop = new AbortController();
  const stopped = cache.seen(version, stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(stopped, /enough/);
  const closed = assert.rejects(cache.seen(version), /closed/);
  await cache.close();
  await closed;
});

test("who waits for a version that was undone goes on with what the server has", async (t) => {
  const { clock, server, faults, cache, put } = await stage(t);
  await put("1");
  await cache.seen(await put("2"));
  const unwatched = server.create(kinds.secret, { metadata: { namespace, name: "other" } });
  let isSeen = false;
  cache.seen(unwatched.metadata.resourceVersion ?? "").then(() => {
    isSeen = true;
  }, assert.fail);
  faults.goBack(2);
  await clock.advanceUntil(() => isSeen, 5 * 60_000);
  assert.deepEqual(cache.get(at), { n: "1" });
});
