import assert from "node:assert/strict";
import { test } from "node:test";
import { createSimulatedCluster } from "../../box/cluster/simulated-kube.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { silentLog } from "../../runtime/log.ts";
import { createSeededRandom } from "../../runtime/random.ts";
import type { Answer } from "./answer.ts";
import type { PublicRoute } from "./route.ts";
import { gatewayVersionAgeMs, gatewayVersionMs, versionRoutes } from "./version-route.ts";

test("the version of the API server is told once it was seen, also while it is away, and asked for again later", async (t) => {
  const clock = createVirtualClock();
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random: createSeededRandom(1), log: silentLog });
  t.after(() => cluster.close());
  const [route] = versionRoutes({ kube: cluster.connect("test"), version: "0.1.0", clock });
  const ask = () => (route as PublicRoute).handle({} as never) as Promise<Answer> | Answer;
  cluster.faults.leaderless();
  const refused = assert.rejects(async () => ask(), /kube|Kubernetes/i);
  await clock.advance(2 * gatewayVersionMs);
  await refused;

  cluster.faults.clear();
  const [first] = await Promise.all([ask(), ask(), clock.advance(100)]);
  const { akash, kube } = JSON.parse(String(first.body)) as Record<string, Record<string, string>>;
  assert.match(akash?.["version"] ?? "", /^v(0\.([5-9]|[1-9]\d)|[1-9]\d*\.\d+)\.\d+$/);
  assert.equal(akash?.["build_tags"], "akash-provider/0.1.0");
  assert.equal(kube?.["major"], "1");

  const before = cluster.counts.requests;
  cluster.faults.leaderless();
  await clock.advance(gatewayVersionAgeMs + 1);
  assert.equal(ask(), first);
  await clock.advance(2 * gatewayVersionMs);
  assert.equal(ask(), first);
  assert(cluster.counts.requests > before);
});
