/** The life of a manifest: sent, updated, sent again, withdrawn, missing; with a chain, a journal, and restarts between. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentOf, formatLeaseId } from "../src/market/ids.ts";
import { type Manifest, manifestHash } from "../src/market/manifest.ts";
import { readSdl } from "../src/market/sdl/sdl.ts";
import { onManifestStage, type Wish } from "./manifest-stage.ts";

export function webWish(image = "web"): Wish {
  return readSdl(`
version: "2.1"
services:
  web:
    image: ${image}
    env: ["PASSWORD=correct-horse-battery-staple"]
    expose: [{ port: 80, accept: [web.example.com], to: [{ global: true }] }]
profiles:
  compute:
    small: { resources: { cpu: { units: 100m }, memory: { size: 128Mi }, storage: { size: 128Mi } } }
  placement:
    west: { pricing: { small: { denom: uact, amount: 10000 } } }
deployment:
  web: { west: { profile: small, count: 1 } }
`);
}

const bodyOf = (manifest: Manifest) => JSON.stringify(manifest);
const hex = (manifest: Manifest) => Buffer.from(manifestHash(manifest)).toString("hex");

test("a manifest is taken for its lease, told of once, and sent again changes nothing", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests, journal } = await stage.running();
    const lease = await stage.leased(1n, wish);
    const key = formatLeaseId(lease);
    await stage.until("it is waited for", () => journal.read.deadlines.get("manifest", key) !== undefined);
    const told: string[] = [];
    manifests.onReceived((leaseKey) => told.push(leaseKey));
    const id = deploymentOf(lease);
    assert.deepEqual(await manifests.submit(id, bodyOf(wish.manifest)), { leases: [key], changed: [key] });
    const row = journal.read.manifests.get(key);
    assert.equal(row?.version, hex(wish.manifest));
    assert.deepEqual(JSON.parse(row?.body ?? ""), wish.manifest);
    assert.equal(journal.read.deadlines.get("manifest", key), undefined);
    await stage.pass(2_000);
    assert.deepEqual(await manifests.submit(id, bodyOf(wish.manifest)), { leases: [key], changed: [] });
    assert.equal(journal.read.manifests.get(key)?.receivedAtMs, row?.receivedAtMs);
    assert.deepEqual(told, [key]);
    assert.deepEqual(manifests.manifestOf(lease)?.group, wish.manifest[0]);
  });
});

test("a lease whose manifest never comes is closed when its time is up, with the reason that says so", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests } = await stage.running();
    const lease = await stage.leased(1n, wish);
    await assert.rejects(manifests.submit(deploymentOf(lease), "{}"), { code: "AKP_MANIFEST_UNREADABLE" });
    const createdAt = (await stage.queries.lease(lease)).value?.createdAt ?? 0n;
    await stage.until("it is closed", async () => (await stage.queries.lease(lease)).value?.state === "closed");
    const { value: closed } = await stage.queries.lease(lease);
    assert.equal(closed?.reason, 10_003);
    const lived = Number((closed?.closedOn ?? 0n) - createdAt);
    assert.ok(lived >= 300 && lived <= 306, `closed after ${lived} blocks of a second`);
  });
});
