/** Watches in which nothing happens, on a real API server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { kubeRetryMostMs } from "../../src/kube/client/api-errors.ts";
import { kubeSilenceMs } from "../../src/kube/client/list-watch.ts";
import { kubeWatchMostMs } from "../../src/kube/client/watch-stream.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { configMap } from "../support/contracts/kube.contract.ts";
import { eventually } from "../support/eventually.ts";
import { hastyClock, openKube } from "./open-kube.ts";

const missing = controlPlaneMissing();
const kubeconfig = missing ? "" : await sharedControlPlane({ after });

/** In a namespace of its own: a quiet watch must not see writes of other tests. */
async function watchMaps(kube: Kube, namespace: string) {
  await kube.create(kinds.namespace, { metadata: { name: namespace } });
  const given = { namespace, name: "kube-root-ca.crt" };
  await eventually("what a controller puts into every namespace", () => kube.get(kinds.configMap, given));
  const seen: string[] = [];
  const handle = ({ name }: { name: string }) => void seen.push(name);
  const cache = kube.watch({ kind: kinds.configMap, namespace, project: () => undefined, handle });
  return { cache, seen };
}

describe("a quiet watch", { skip: missing, concurrency: true }, () => {
  it("is taken up again from the server's bookmark when it ends, and the next event comes over the new watch", async (t) => {
    const kube = openKube(t, kubeconfig);
    const { cache, seen } = await watchMaps(kube, "quiet");
    await eventually("the watch", () => cache.counts.connections === 1);
    // Something elsewhere: where nothing at all changes, the server has no bookmark to give.
    await kube.create(kinds.configMap, configMap("default", "elsewhere", {}));
    // By the real clock and the server's own: the end of one watch, and some.
    await eventually("the second watch", () => cache.counts.connections === 2, 2 * kubeWatchMostMs);
    const { bookmarks, events, lists, silences, errors } = cache.counts;
    assert.deepEqual({ events, lists, silences, errors }, { events: 0, lists: 1, silences: 0, errors: 0 });
    assert.ok(bookmarks > 0);
    await kube.create(kinds.configMap, configMap("quiet", "after-one", {}));
    await eventually("the event", () => seen.includes("after-one"));
    assert.deepEqual([cache.counts.connections, cache.counts.lists], [2, 1]);
  });

  it("that is given up as dead every second still brings the next event after 15 minutes, without a new list", async (t) => {
    const kube = openKube(t, kubeconfig);
    // So fast that the server never gets round to a bookmark, and every watch looks dead.
    const times = 40;
    const { cache, seen } = await watchMaps(openKube(t, kubeconfig, { clock: hastyClock(times) }), "dead");
    await cache.synced();
    const minutes = 15;
    const deaths = Math.floor((minutes * 60_000) / (kubeSilenceMs + kubeRetryMostMs));
    await eventually(`${deaths} deaths`, () => cache.counts.silences >= deaths, minutes * 60_000);
    await kube.create(kinds.configMap, configMap("dead", "after-many", {}));
    await eventually("the event", () => seen.includes("after-many"));
    assert.equal(cache.counts.lists, 1);
  });
});
