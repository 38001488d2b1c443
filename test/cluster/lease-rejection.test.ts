/** What becomes of a manifest that the cluster itself will not have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds, resourceOf } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant, type Tenant } from "../support/lease-tenant.ts";
import { images, shop } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "../support/stages/lease-stage.ts";

const refusal = { status: 422, verb: "patch", kind: kinds.statefulSet } as const;

test("a first manifest of which the cluster rejects one service runs none of them, and the next one runs", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    stage.start();
    const tenant = createTenant(stage, 7n);
    await tenant.post(shop());
    await tenant.takeBid();
    stage.cluster.faults.reject(refusal);
    await tenant.sendManifest(shop());
    await stage.until("a refusal", () => refusalOf(stage, tenant) !== undefined);
    await stage.until("nothing runs", () => contentsOf(stage, tenant).length === 0);
    await stage.atRest();
    assert.deepEqual(contentsOf(stage, tenant), []);
    assert.deepEqual(stage.cluster.server.list(kinds.providerHost), []);
    assert.deepEqual(stage.cluster.server.list(kinds.manifest), []);

    await tenant.update(shop({ page: images.newPage }));
    assert.equal(refusalOf(stage, tenant), undefined);
  });
});

test("an update of which the cluster rejects one service changes nothing of what runs", async (t) => {
  await onLeaseStage({ dir: memoryFolder(t) }, async (stage) => {
    stage.start();
    const tenant = createTenant(stage, 7n);
    await tenant.deploy(shop());
    await stage.atRest();
    const before = versionsOf(stage, tenant);
    stage.cluster.faults.reject(refusal);
    const bigger = shop({ page: images.newPage, store: "example.com/store:2" });
    await tenant.announce(bigger);
    await tenant.sendManifest(bigger);
    await stage.until("a refusal", () => refusalOf(stage, tenant) !== undefined);
    await stage.atRest();
    assert.deepEqual(versionsOf(stage, tenant), before);
    await tenant.runs(shop());
  });
});

function refusalOf({ life }: LeaseStage, { lease }: Tenant): string | undefined {
  return life?.open?.journal.read.manifests.get(formatLeaseId(lease))?.refusal;
}

const content = [kinds.deployment, kinds.statefulSet, kinds.service, kinds.secret];

function contentsOf({ cluster }: LeaseStage, { namespace }: Tenant): string[] {
  return content.flatMap((kind) =>
    cluster.server.list(kind, { namespace }).map(({ metadata }) => `${resourceOf(kind)} ${metadata.name}`),
  );
}

function versionsOf({ cluster }: LeaseStage, { namespace }: Tenant): string[] {
  return [...content, kinds.pod].flatMap((kind) =>
    cluster.server.list(kind, { namespace }).map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`),
  );
}
