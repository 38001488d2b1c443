/** The whole provider and a lease that never works: what its chain, its cluster and its journal come to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { closeReasons } from "../src/chain/tx/closing.ts";
import { formatLeaseId } from "../src/market/ids.ts";
import { memoryFolder } from "./folder.ts";
import { cell } from "./lease-sdl.ts";
import { onLeaseStage } from "./lease-stage.ts";
import { createTenant } from "./lease-tenant.ts";

test("a lease whose image is not there is closed on chain as unstable and torn down, one that works goes on", async (t) => {
  const monitor = { maxRetries: 4, retryPeriodMs: 10_000, retryJitterMs: 10_000 };
  await onLeaseStage({ dir: memoryFolder(t), monitor, blockMs: 3_000 }, async (stage) => {
    const life = stage.start();
    const { journal } = await life.house;
    const [works, starves] = [createTenant(stage, 1n), createTenant(stage, 2n)];
    const missing = cell("example.com/missing:1");
    await works.deploy(cell());
    await starves.post(missing);
    await starves.takeBid();
    await starves.sendManifest(missing);
    const key = formatLeaseId(starves.lease);
    await stage.until("it is seen unwell", () => (journal.read.unhealth.get(key)?.observedMs ?? 0) > 0);
    const { conditions = [], leaseHealth } = life.status().cluster ?? {};
    assert.deepEqual(leaseHealth, { healthy: 1, unhealthy: 1, unknown: 0 });
    assert.match(
      conditions.map(({ type, message }) => `${type} ${message}`).join("\n"),
      /^LeaseUnhealthy lease .*: cell: image "example.com\/missing:1" cannot be pulled: there is no such image or tag$/m,
    );
    await starves.isGone();
    const { value: lease } = await stage.queries.lease(starves.lease);
    assert.deepEqual([lease?.state, lease?.reason], ["closed", closeReasons.unstable]);
    assert.equal(journal.read.unhealth.get(key), undefined);
    assert.equal(journal.read.intents.about(key).filter(({ what }) => what === "closeBid").length, 1);
    assert.equal((await stage.queries.lease(works.lease)).value?.state, "active");
    assert.equal((await works.pods()).length, 1);
  });
});
