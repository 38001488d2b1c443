import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { createSimulatedCluster } from "../../box/cluster/simulated-kube.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import type { RestAnswer } from "./answer.ts";
import { followToken, gatewayVersionAgeMs, gatewayVersionMs, versionRoutes } from "./provider-routes.ts";
import type { PublicRoute } from "./route.ts";

test("API server version is cached, served while the server is down, and refreshed later", async (t) => {
  const clock = createVirtualClock();
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random: createSeededRandom(1), log: silentLog });
  t.after(() => cluster.close());
  const [route] = versionRoutes({ kube: cluster.connect("test"), version: "0.1.0", clock });
  const ask = () => (route as PublicRoute).handle({} as never) as Promise<RestAnswer> | RestAnswer;
  cluster.faults.leaderless();
  const rejected = assert.rejects(async () => ask(), /kube|Kubernetes/i);
  await clock.advance(2 * gatewayVersionMs);
  await rejected;

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

test("metrics token follows its file; missing, empty or short → none", async (t) => {
  const clock = createVirtualClock();
  const path = join(temporaryFolder(t), "token");
  const scope = { onStop: (close: () => void) => t.after(close) };
  const token = followToken(path, scope, { clock, log: silentLog });
  const later = () => clock.advance(2 * followedFileMs);
  assert.equal(token(), undefined);
  writeFileSync(path, "0123456789abcdef\n");
  await later();
  assert.equal(token(), "0123456789abcdef");
  writeFileSync(path, "another-token-of-ours");
  await later();
  assert.equal(token(), "another-token-of-ours");
  for (const none of ["", "short", "two words of a token"]) {
    writeFileSync(path, none);
    await later();
    assert.equal(token(), undefined, none);
  }
  rmSync(path);
  await later();
  assert.equal(token(), undefined);
  assert.equal(followToken(undefined, scope, { clock, log: silentLog })(), undefined);
});
