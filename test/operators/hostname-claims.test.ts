/** Ownership of host names and their routes: other providers, squatters, and manual edits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import { providerHost, providerHostName } from "../../src/kube/objects/provider-host.ts";
import { addressOf } from "../../src/market/address.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { hosts, leaseOf, manifestNamespace } from "../support/stages/declaration-stage.ts";
import { controllerKinds, type HostnameStage, openHostnameStage, stateText } from "../support/stages/hostname-stage.ts";

const [ann, annToo, ben, carol] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1), leaseOf(3, 1)];
const host = "a.example.com";
const wildcard = "*.example.com";

function namespacesOf(routes: readonly KubeObject[]): string[] {
  return routes.map(({ metadata }) => metadata.namespace ?? "");
}

for (const manager of ["akash-operator-hostname", "provider-services"]) {
  test(`another provider of the same cluster keeps its routes, also those of ${manager}`, async (t) => {
    const stage = openHostnameStage(t);
    const { server } = stage.cluster;
    const theirs = { ...ben, provider: addressOf(new Uint8Array(20).fill(201)) };
    stage.lease(theirs, hosts(host), { manifest: false });
    server.create(kinds.namespace, { metadata: { name: "lease2" } }, "test");
    const declared = { lease: theirs, host, service: "web", externalPort: 80 };
    server.create(kinds.providerHost, providerHost(declared, { manifestNamespace: "lease2" }).object, "akash-provider");
    const at = { name: host, namespace: leaseNamespace(theirs), labels: idLabels(theirs) };
    const backend = { service: { name: "web", port: { number: 80 } } };
    const rules = [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
    server.create(kinds.ingress, { metadata: at, spec: { rules } } as KubeObject, manager);
    stage.lease(ann, hosts("b.example.com"));
    stage.declare("b.example.com", ann);
    stage.start();
    await stage.settled(10_000);
    assert.deepEqual(namespacesOf(stage.routes()).sort(), [leaseNamespace(ann), leaseNamespace(theirs)].sort());
    // Nor where it is a name that both have.
    stage.declare(host, ann);
    await stage.settled(10_000);
    assert.ok(namespacesOf(stage.routes()).includes(leaseNamespace(theirs)));
  });
}

test("an operator that looks for declarations in a namespace that has none takes no route away", async (t) => {
  const stage = openHostnameStage(t);
  const names = Array.from({ length: 20 }, (_, at) => `h${at}.example.com`);
  stage.lease(ann, hosts(...names));
  for (const name of names) stage.declare(name, ann);
  const life = stage.start();
  await stage.settled(10_000);
  await life.stop();
  stage.start({ manifestNamespace: "leases" });
  await stage.settled(10_000);
  assert.equal(stage.routes().length, names.length);
});

test("an orphaned route is removed once its provider has a declaration", async (t) => {
  const stage = openHostnameStage(t);
  const { server } = stage.cluster;
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const first = stage.start();
  await stage.settled();
  await first.stop();
  stage.withdraw(host);
  server.delete(kinds.manifest, { namespace: manifestNamespace, name: leaseNamespace(ann) });
  stage.start();
  await stage.settled(10_000);
  assert.equal(stage.routes().length, 1);
  stage.lease(ben, hosts());
  await stage.settled();
  assert.deepEqual(stage.all(), []);
});

test("an unproven wildcard does not block a proven name below it", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ben, hosts(wildcard));
  stage.lease(ann, hosts(host));
  const records: Record<string, string> = { [`_akash-challenge.${host}`]: ann.owner };
  const resolveTxt = async (name: string) => [[records[name] ?? ""]];
  const { operator } = stage.start({ resolveTxt });
  stage.declare(wildcard, ben);
  await stage.settled(5_000);
  assert.equal(stateText(operator.states.get(wildcard)), "refused unknown: ProofMissing");
  stage.declare(host, ann);
  await stage.settled(5_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("with proofs, an exact name and another owner's wildcard are both served once proven", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ben, hosts(wildcard));
  stage.lease(ann, hosts(host));
  const records: Record<string, string> = { "_akash-challenge.example.com": ben.owner };
  const { operator } = stage.start({ resolveTxt: async (name) => [[records[name] ?? ""]] });
  stage.declare(wildcard, ben);
  stage.declare(host, ann);
  await stage.settled(5_000);
  const states = () => [wildcard, host].map((each) => stateText(operator.states.get(each)));
  assert.deepEqual(states(), ["served healthy", "refused unknown: ProofMissing"]);
  records[`_akash-challenge.${host}`] = ann.owner;
  await stage.settled(120_000);
  assert.deepEqual(states(), ["served healthy", "served healthy"]);
  assert.deepEqual(namespacesOf(stage.routes()).sort(), [leaseNamespace(ann), leaseNamespace(ben)].sort());
  // The wildcard's next lease is younger than the exact name.
  stage.withdraw(wildcard);
  await stage.settled(5_000);
  stage.declare(wildcard, ben);
  await stage.settled(5_000);
  assert.deepEqual(states(), ["served healthy", "served healthy"]);
});

test("with proofs, a wildcard within another owner's wildcard is rejected as in use", async (t) => {
  const stage = openHostnameStage(t);
  const inner = "*.a.example.com";
  stage.lease(ben, hosts(wildcard));
  stage.lease(ann, hosts(inner));
  const records: Record<string, string> = {
    "_akash-challenge.example.com": ben.owner,
    "_akash-challenge.a.example.com": ann.owner,
  };
  const { operator } = stage.start({ resolveTxt: async (name) => [[records[name] ?? ""]] });
  stage.declare(wildcard, ben);
  await stage.settled(5_000);
  stage.declare(inner, ann);
  await stage.settled(120_000);
  assert.equal(stateText(operator.states.get(inner)), "refused unknown: HostnameInUse");
});

test("a rejected wildcard blocks no other name, in any order of reconciles", async (t) => {
  const stage = openHostnameStage(t);
  const names = [
    ["x.example.com", carol],
    [wildcard, ben],
    [host, ann],
  ] as const;
  for (const [name, lease] of names) stage.lease(lease, hosts(name));
  for (const [name, lease] of names) {
    stage.declare(name, lease);
    await stage.settled(2_000);
  }
  const expected = ["served healthy", "refused unknown: HostnameInUse", "served healthy"];
  for (let life = 0; life < 2; life++) {
    const { operator, stop } = stage.start();
    await stage.settled(10_000);
    assert.deepEqual(
      names.map(([name]) => stateText(operator.states.get(name))),
      expected,
    );
    await stop();
  }
});

test("a proven name gets its route back without its TXT record, but not for another owner", async (t) => {
  const stage = openHostnameStage(t);
  let records = [[ann.owner as string]];
  for (const each of [ann, ben]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start({ resolveTxt: async () => records });
  await stage.settled(5_000);
  records = [];
  await stage.settled(600_000);
  stage.cluster.server.delete(kinds.ingress, { namespace: leaseNamespace(ann), name: host });
  await stage.settled(5_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  stage.withdraw(host);
  stage.declare(host, ben);
  await stage.settled(5_000);
  assert.equal(stateText(operator.states.get(host)), "refused unknown: ProofMissing");
});

test("editing the declaration of a wildcard does not cause endless requests", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(wildcard));
  stage.declare(wildcard, ann);
  const gets: string[] = [];
  stage.start({
    through: (kube) => ({
      ...kube,
      get(kind, at, options) {
        gets.push(at.name);
        return kube.get(kind, at, options);
      },
    }),
  });
  await stage.settled(10_000);
  const { server } = stage.cluster;
  const live = server.get(kinds.providerHost, { namespace: manifestNamespace, name: providerHostName(wildcard) });
  assert.ok(live);
  const spec = { ...(live["spec"] as object), hostname: "other.example.com" };
  server.update(kinds.providerHost, { ...live, spec } as KubeObject, "kubectl");
  await stage.settled(600_000);
  assert.ok(gets.length < 5, `${gets.length} requests`);
});

/** What a controller of the Gateway API writes. */
function accept(stage: HostnameStage): void {
  for (const route of stage.routes(kinds.httpRoute)) {
    const conditions = [{ type: "Accepted", status: "True", observedGeneration: route.metadata.generation }];
    const parents = [{ parentRef: { name: "traefik", namespace: "traefik" }, conditions }];
    stage.cluster.server.updateStatus(kinds.httpRoute, { ...route, status: { parents } } as KubeObject, "traefik");
  }
}

test("--migrations-enabled=false keeps routes of the other mode when their name moves to another lease", async (t) => {
  const stage = openHostnameStage(t);
  for (const each of [ann, annToo]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  const first = stage.start();
  await stage.settled();
  await first.stop();
  stage.define(...controllerKinds.gateway);
  const { operator } = stage.start({ ingressMode: "gateway-api", removesOldKind: false });
  await stage.settled();
  accept(stage);
  await stage.settled(20_000);
  stage.declare(host, annToo);
  await stage.settled();
  accept(stage);
  await stage.settled(60_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
  assert.deepEqual(namespacesOf(stage.routes(kinds.httpRoute)), [leaseNamespace(annToo)]);
  assert.match(stateText(operator.states.get(host)), /^served healthy: .*OldRouteKept$/);
});

test("rewriting the owner in the declaration of a blocked name does not remove the served route", async (t) => {
  const stage = openHostnameStage(t);
  for (const each of [ann, ben]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  const first = stage.start();
  await stage.settled();
  await first.stop();
  const { operator } = stage.start({ blockedHosts: [host] });
  await stage.settled(5_000);
  stage.declare(host, ben);
  await stage.settled(5_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
  assert.equal(stateText(operator.states.get(host)), "refused unknown: OwnerChanged");
});

test("the old route of a moved name is removed even if its host name was edited", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.gateway);
  for (const each of [ann, ben]) stage.lease(each, hosts(host));
  const { server } = stage.cluster;
  for (const [ingressMode, kind, edited] of [
    ["ingress", kinds.ingress, (spec: object) => ({ ...spec, rules: [{ host: "b.example.com" }] })],
    ["gateway-api", kinds.httpRoute, (spec: object) => ({ ...spec, hostnames: [] })],
  ] as const) {
    stage.declare(host, ann);
    const first = stage.start({ ingressMode });
    await stage.settled(10_000);
    await first.stop();
    const [route] = stage.routes(kind);
    assert.ok(route);
    server.update(kind, { ...route, spec: edited(route["spec"] as object) } as KubeObject, "kubectl");
    stage.withdraw(host);
    if (kind === kinds.ingress) stage.declare(host, ben);
    const second = stage.start({ ingressMode });
    await stage.settled(60_000);
    assert.deepEqual(namespacesOf(stage.routes(kind)), kind === kinds.ingress ? [leaseNamespace(ben)] : [], kind.kind);
    await second.stop();
    stage.withdraw(host);
  }
});
