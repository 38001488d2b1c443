/** The life of a manifest: sent, updated, sent again, withdrawn; on a chain, with a journal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chain } from "../../src/chain/chain.ts";
import { createChecks } from "../../src/manifest/checks.ts";
import { manifestWaiting } from "../../src/manifest/intake.ts";
import type { DeploymentId, LeaseId } from "../../src/market/ids.ts";
import { deploymentOf, formatLeaseId } from "../../src/market/ids.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import { createLog, silentLog } from "../../src/runtime/log.ts";
import { statusEveryMs } from "../../src/runtime/throttle.ts";
import {
  bodyOf,
  hashOfJson,
  registryPassword,
  secret,
  versionOf,
  webWish,
} from "../support/samples/manifest-samples.ts";
import { noRules, onManifestStage } from "../support/stages/manifest-stage.ts";

test("a manifest is accepted for its lease and published once; sent again it changes nothing", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests, journal, bus } = await stage.running();
    const events: unknown[] = [];
    bus.subscribe("akash.provider.event.manifest", ({ data }) => void events.push(data));
    const lease = await stage.leased(1n, wish);
    const key = formatLeaseId(lease);
    await stage.until("it is waited for", () => journal.read.deadlines.get("manifest", key) !== undefined);
    const woken = stage.cluster.woken;
    const id = deploymentOf(lease);
    assert.deepEqual(await manifests.submit(id, bodyOf(wish.manifest)), { leases: [key], changed: [key] });
    const row = journal.read.manifests.get(key);
    assert.equal(row?.version, versionOf(wish.manifest));
    assert.deepEqual(JSON.parse(row?.body ?? ""), wish.manifest);
    assert.equal(journal.read.deadlines.get("manifest", key), undefined);
    await stage.pass(2_000);
    assert.deepEqual(await manifests.submit(id, bodyOf(wish.manifest)), { leases: [key], changed: [] });
    assert.equal(journal.read.manifests.get(key)?.receivedAtMs, row?.receivedAtMs);
    assert.deepEqual(woken, [key]);
    assert.deepEqual(events, [{ kind: "ManifestReceived", lease: key, version: row?.version }]);
    assert.deepEqual(manifests.manifestOf(lease)?.group, wish.manifest[0]);
  });
});

test("an update replaces the manifest as soon as the chain has it, and not before; the old one is rejected from then on", async (t) => {
  await onManifestStage(t, async (stage) => {
    const [old, next] = [webWish(), webWish({ image: "web:2" })];
    const { manifests, journal } = await stage.running();
    const lease = await stage.leased(1n, old);
    const [id, key] = [deploymentOf(lease), formatLeaseId(lease)];
    await manifests.submit(id, bodyOf(old.manifest));
    const early = manifests.submit(id, bodyOf(next.manifest));
    await assert.rejects(early, { code: "AKP_MANIFEST_OTHER_VERSION", message: "manifest version validation failed" });
    // At once, whatever our mirror has seen by then.
    await stage.update(id, manifestHash(next.manifest));
    assert.deepEqual((await manifests.submit(id, bodyOf(next.manifest))).changed, [key]);
    assert.equal(journal.read.manifests.get(key)?.version, versionOf(next.manifest));
    await stage.pass(5_000);
    await assert.rejects(manifests.submit(id, bodyOf(old.manifest)), { code: "AKP_MANIFEST_OTHER_VERSION" });
    assert.equal(journal.read.manifests.get(key)?.version, versionOf(next.manifest));
  });
});

test("a manifest with fields that are newer than we are is known by the hash of all of it", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const [group] = wish.manifest;
    const newer = [{ ...group, later: { z: 1.5, a: ["<&>"] } }];
    const { manifests, journal } = await stage.running();
    const id = await stage.post(1n, wish, hashOfJson(newer));
    const lease = await stage.lease(id, wish);
    await manifests.submit(id, JSON.stringify(newer));
    const row = journal.read.manifests.get(formatLeaseId(lease));
    assert.equal(row?.version, hashOfJson(newer).toString("hex"));
    assert.deepEqual(JSON.parse(row?.body ?? ""), wish.manifest);
  });
});

test("each of our leases gets its own group, and a deployment without lease is rejected last", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish({ placements: ["east", "west"] });
    const { manifests, journal } = await stage.running();
    const id = await stage.post(1n, wish);
    const body = bodyOf(wish.manifest);
    await assert.rejects(manifests.submit(id, body), { code: "AKP_NO_LEASE", message: "no lease for deployment" });
    const first = await stage.lease(id, wish, 1);
    // The mirror need not know it yet.
    assert.deepEqual((await manifests.submit(id, body)).leases, [formatLeaseId(first)]);
    const second = await stage.lease(id, wish, 2);
    await stage.until(
      "the mirror has both",
      () => journal.read.deadlines.get("manifest", formatLeaseId(second)) !== undefined,
    );
    const { changed } = await manifests.submit(id, body);
    assert.deepEqual(changed, [formatLeaseId(second)]);
    const groupOf = (lease: typeof first) => manifests.manifestOf(lease)?.group.name;
    assert.deepEqual([groupOf(first), groupOf(second)], ["east", "west"]);
    await stage.close(id);
    await stage.pass(5_000);
    await assert.rejects(manifests.submit(id, body), { code: "AKP_NO_LEASE" });
  });
});

test("a lease that the mirror has not seen yet gets its group too, beside another of the same deployment", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish({ placements: ["east", "west"] });
    const { chain, journal } = await stage.running();
    const id = await stage.post(1n, wish);
    const seen = await stage.lease(id, wish, 1);
    const unseen = await stage.lease(id, wish, 2);
    const isWatched = (lease: LeaseId) => journal.read.deadlines.get("manifest", formatLeaseId(lease)) !== undefined;
    await stage.until("both are known", () => isWatched(seen) && isWatched(unseen));
    const leases = () => [...chain.mirror.leases()].filter(({ id }) => id.gseq === seen.gseq);
    const mirror: Chain["mirror"] = Object.create(chain.mirror, { leases: { value: leases } });
    const checks = createChecks({
      ...{ chain: { ...chain, mirror }, cluster: stage.cluster, rules: () => noRules, log: silentLog },
      requireHost: false,
    });
    assert.deepEqual(
      (await checks.leasesOf(id)).map(formatLeaseId).toSorted(),
      [seen, unseen].map(formatLeaseId).toSorted(),
    );
  });
});

test("a withdrawn manifest is not waited for again, and accepted when it is sent again; so is one that the cluster rejected", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests, journal, status, stop } = await stage.running({ timeoutMs: 15_000 });
    const lease = await stage.leased(1n, wish);
    const [id, key, body] = [deploymentOf(lease), formatLeaseId(lease), bodyOf(wish.manifest)];
    await manifests.submit(id, body);
    const woken = stage.cluster.woken;
    woken.length = 0;
    assert.deepEqual(await manifests.withdraw(id), { leases: [key], changed: [key] });
    assert.deepEqual(await manifests.withdraw(id), { leases: [key], changed: [] });
    assert.deepEqual(woken, [key]);
    await stage.pass(25_000);
    assert.deepEqual([status().withdrawn, status().waiting], [1, 0]);
    assert.equal((await stage.queries.lease(lease)).value?.state, "active");
    assert.equal(journal.read.deadlines.get("manifest", key), undefined);
    await stop();
    const again = await stage.running({ timeoutMs: 15_000 });
    await stage.pass(25_000);
    assert.equal((await stage.queries.lease(lease)).value?.state, "active");
    assert.deepEqual((await again.manifests.submit(id, body)).changed, [key]);
    assert.equal(again.manifests.manifestOf(lease)?.withdrawnAtMs, undefined);
    await again.journal.durable("test", (tables) =>
      tables.manifests.noteRejection(key, versionOf(wish.manifest), "no"),
    );
    assert.deepEqual((await again.manifests.submit(id, body)).changed, [key]);
    assert.equal(again.manifests.manifestOf(lease)?.refusal, undefined);
  });
});

test("a deployment of number 0, which a list on the chain takes for all of them, has no lease", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests } = await stage.running({ timeoutMs: 15_000 });
    const lease = await stage.leased(1n, wish);
    await manifests.submit(deploymentOf(lease), bodyOf(wish.manifest));
    const zero = { ...deploymentOf(lease), dseq: 0n };
    await assert.rejects(manifests.withdraw(zero), { code: "AKP_NO_LEASE" });
    assert.equal(manifests.manifestOf(lease)?.withdrawnAtMs, undefined);
  });
});

test("what is sent at once for one deployment is taken in turn, up to a bound; others do not wait for it", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests } = await stage.running();
    const [one, other] = [deploymentOf(await stage.leased(1n, wish)), deploymentOf(await stage.leased(2n, wish))];
    await stage.pass(5_000);
    const held = Promise.withResolvers<undefined>();
    const { recorded } = stage.cluster;
    stage.cluster.recorded = ({ dseq }) => (dseq === 1n ? held.promise : Promise.resolve(undefined));
    const send = (id: DeploymentId) => manifests.submit(id, bodyOf(wish.manifest));
    const waiting = Array.from({ length: manifestWaiting }, () => send(one));
    await assert.rejects(send(one), { code: "AKP_MANIFEST_BUSY" });
    assert.equal((await send(other)).changed.length, 1);
    held.resolve(undefined);
    const answers = await Promise.all(waiting);
    assert.deepEqual(
      answers.map(({ changed }) => changed.length),
      [1, ...Array(manifestWaiting - 1).fill(0)],
    );
    stage.cluster.recorded = recorded;
    assert.equal((await send(one)).changed.length, 0, "no lease waits any more");
  });
});

test("policies and host names of others reject a manifest with a reason; a policy in dry run passes and is logged", async (t) => {
  await onManifestStage(t, async (stage) => {
    const no = (reason: string, dryRun = false) => ({ yes: false, reason, dryRun });
    const yes = { yes: true, reason: "", dryRun: false };
    let rules = { tenant: () => yes, image: () => yes, hostname: () => yes };
    const lines: string[] = [];
    const { manifests, journal } = await stage.running({
      requireHost: true,
      rules: { tenant: () => rules.tenant(), image: () => rules.image(), hostname: () => rules.hostname() },
      log: createLog({ destination: { write: (line) => void lines.push(line), lost: 0 } }),
    });
    const wish = webWish({ host: "web.example.com" });
    const lease = await stage.leased(1n, wish);
    const send = () => manifests.submit(deploymentOf(lease), bodyOf(wish.manifest));
    rules = { ...rules, image: () => no('image "web" is rejected by the policy') };
    await assert.rejects(send(), {
      code: "AKP_MANIFEST_REJECTED",
      message: 'manifest rejected: image "web" is rejected by the policy',
    });
    rules = { ...rules, image: () => yes, hostname: () => no('"web.example.com" is blocked by this provider') };
    await assert.rejects(send(), { message: 'hostname not allowed: "web.example.com" is blocked by this provider' });
    rules = { ...rules, hostname: () => yes, tenant: () => no("the tenant is rejected by the policy") };
    await assert.rejects(send(), { message: "manifest rejected: the tenant is rejected by the policy" });
    stage.cluster.rejection = 'hostname not allowed: host "web.example.com" in use';
    await assert.rejects(send(), { code: "AKP_MANIFEST_HOST_REFUSED", message: stage.cluster.rejection });
    stage.cluster.rejection = undefined;
    assert.equal(journal.read.manifests.get(formatLeaseId(lease)), undefined);
    assert.deepEqual(stage.cluster.allowed, [], "a rejected tenant does not block the host name");
    rules = { ...rules, tenant: () => no("the tenant is rejected by the policy", true) };
    assert.equal((await send()).changed.length, 1);
    assert.deepEqual(stage.cluster.allowed, ["web.example.com"]);
    assert.ok(lines.some((line) => line.includes("policy would reject the manifest")));
    const nameless = webWish();
    const second = await stage.leased(2n, nameless);
    await assert.rejects(manifests.submit(deploymentOf(second), bodyOf(nameless.manifest)), {
      message: 'manifest rejected: service "on-west" exposed on 80:TCP must have a hostname',
    });
  });
});

test("secrets of tenants appear neither in log, status, metrics nor history", async (t) => {
  await onManifestStage(t, async (stage) => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", destination: { write: (line) => void lines.push(line), lost: 0 } });
    const { manifests, journal, metricsText, bus } = await stage.running({ log });
    bus.subscribe("*", (message) => void lines.push(JSON.stringify(message)));
    const wish = webWish();
    const lease = await stage.leased(1n, wish);
    const [id, body] = [deploymentOf(lease), bodyOf(wish.manifest)];
    const bad = [
      body.slice(0, -20),
      body.replace('"count":1', '"count":"1"'),
      body.replace("PASSWORD=", "1 ="),
      body.replace('"web"', '"x"'),
    ];
    for (const each of bad) await manifests.submit(id, each).catch(({ message, code }) => lines.push(message, code));
    await manifests.submit(id, body);
    await manifests.withdraw(id);
    await stage.pass(5_000);
    assert.ok(journal.read.manifests.get(formatLeaseId(lease))?.body.includes(secret));
    const everything = [...lines, await metricsText(), JSON.stringify(journal.read.history.recent(100))].join("\n");
    for (const word of [secret, registryPassword]) assert.ok(!everything.includes(word), word);
    assert.ok(lines.some((line) => line.includes("manifest accepted")));
  });
});

test("the status says who has a manifest and who is waited for, on the bus too", async (t) => {
  await onManifestStage(t, async (stage) => {
    const wish = webWish();
    const { manifests, status, bus, metricsText } = await stage.running();
    const first = await stage.leased(1n, wish);
    const second = await stage.leased(2n, wish);
    await manifests.submit(deploymentOf(first), bodyOf(wish.manifest));
    await stage.until("the second is watched", () => status().waits.some(({ until }) => until !== null));
    const { waits, ...counts } = status();
    assert.deepEqual(counts, { deployments: 2, leases: 2, received: 1, withdrawn: 0, waiting: 1 });
    assert.deepEqual(
      waits.map(({ lease }) => lease),
      [formatLeaseId(second)],
    );
    await stage.pass(statusEveryMs);
    let retained: unknown;
    bus.subscribe("akash.provider.manifest.status", ({ data }) => {
      retained = data;
    });
    await stage.pass(1);
    assert.deepEqual(retained, status());
    const metrics = await metricsText();
    assert.match(metrics, /provider_manifest_manager 2\\n/);
    assert.match(metrics, /provider_order_watchdog 1\\n/);
    assert.match(metrics, /2 lease\(s\): 1 with a manifest, 1 without/);
  });
});
