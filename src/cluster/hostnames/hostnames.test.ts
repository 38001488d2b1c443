import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOf, hosts, leaseOf, manifestNamespace, openStage } from "../../../test/declaration-stage.ts";
import { kinds } from "../../kube/kinds.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { readProviderHost } from "../../kube/objects/provider-host.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { staticHost } from "./static-host.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const never = new AbortController().signal;

const host = (objects: readonly KubeObject[], name: string) =>
  objects.find((each) => readProviderHost(each)?.host === name);

function holders(objects: readonly KubeObject[]): Record<string, string> {
  const read = objects.map((object) => readProviderHost(object));
  return Object.fromEntries(read.map((each) => [each?.host, each && formatLeaseId(each.lease)]));
}

const refuse = (lease: LeaseId, ...names: string[]) => [names, lease.owner] as const;

test("a name that a lease wants is declared, changed in place, and gone when it is wanted no longer", async (t) => {
  const stage = await openStage(t);
  const objects = () => stage.objects(kinds.providerHost);
  stage.want(ann, hosts("a.example.com", "b.example.com"));
  await stage.settled();
  assert.deepEqual(holders(objects()), { "a.example.com": formatLeaseId(ann), "b.example.com": formatLeaseId(ann) });
  const before = host(objects(), "a.example.com");
  stage.want(ann, groupOf({ externalPort: 0, port: 80, hosts: ["a.example.com"] }));
  await stage.settled();
  assert.deepEqual(Object.keys(holders(objects())), ["a.example.com"]);
  assert.equal(host(objects(), "a.example.com")?.metadata.uid, before?.metadata.uid);
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual(objects(), []);
});

test("a restart with nothing to do writes nothing, and names dropped while we were down go", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com", "b.example.com"));
  stage.want(annToo, hosts("a.example.com"));
  await stage.settled();
  const before = stage.objects(kinds.providerHost);
  await stage.restart();
  await stage.settled();
  assert.equal(stage.kube.counts.applied, 0);
  assert.deepEqual(stage.objects(kinds.providerHost), before);

  stage.want(ann, hosts("b.example.com"));
  await stage.restart();
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), {
    "a.example.com": formatLeaseId(annToo),
    "b.example.com": formatLeaseId(ann),
  });
});

test("a name of another lease of the same owner is withheld, and had as soon as that one gives it up", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  stage.want(annToo, hosts("a.example.com", "b.example.com"));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), {
    "a.example.com": formatLeaseId(ann),
    "b.example.com": formatLeaseId(annToo),
  });
  const [withheld] = stage.hostnames.withheldFrom(formatLeaseId(annToo));
  assert.equal(withheld?.host, "a.example.com");
  assert.match(withheld?.reason ?? "", /held by lease .*\/1\/1\/1\/.* of the same owner/);
  stage.want(ann, undefined);
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["a.example.com"], formatLeaseId(annToo));
  assert.deepEqual(stage.hostnames.withheldFrom(formatLeaseId(annToo)), []);
});

test("another owner's name is refused in the network's words, and nothing of his is touched", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  const before = stage.objects(kinds.providerHost);
  assert.equal(
    stage.hostnames.refusal(["A.Example.com"], ben.owner),
    'hostname not allowed: host "a.example.com" in use',
  );
  assert.equal(stage.hostnames.refusal(...refuse(ann, "a.example.com")), undefined);
  stage.want(ben, hosts("a.example.com"));
  await stage.settled();
  assert.deepEqual(stage.objects(kinds.providerHost), before);
  assert.deepEqual(stage.hostnames.withheldFrom(formatLeaseId(ben)), [
    { host: "a.example.com", reason: "held by another owner" },
  ]);
});

test("of two tenants who send the same name at once one gets it, and the other is told at once", async (t) => {
  const stage = await openStage(t);
  assert.equal(stage.hostnames.refusal(...refuse(ben, "a.example.com")), undefined);
  const inUse = 'hostname not allowed: host "a.example.com" in use';
  assert.equal(stage.hostnames.refusal(...refuse(ann, "a.example.com")), inUse);
  assert.equal(
    stage.hostnames.refusal(...refuse(ann, "*.example.com")),
    'hostname not allowed: host "*.example.com" in use',
  );
  stage.want(ben, hosts("a.example.com"));
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ben) });
});

test("what was allowed and never came is free again after a while", async (t) => {
  const stage = await openStage(t);
  assert.equal(stage.hostnames.refusal(...refuse(ben, "a.example.com")), undefined);
  await stage.clock.advance(61_000);
  assert.equal(stage.hostnames.refusal(...refuse(ann, "a.example.com")), undefined);
});

test("two loops that declare one name at once: one gets it, whatever the cluster takes its time with", async (t) => {
  const stage = await openStage(t);
  stage.want(ben, hosts("a.example.com", "b.example.com"));
  stage.want(ann, hosts("b.example.com", "a.example.com"));
  await stage.settled();
  const owners = new Set(Object.values(holders(stage.objects(kinds.providerHost))));
  assert.equal(owners.size, 1);
});

test("blocked names, the provider's own, and those below the ingress domain are refused", async (t) => {
  const stage = await openStage(t, {
    blockedHosts: ["www.foo.com", ".bar.com"],
    ingressDomain: "ingress.example.com",
    publicHost: "provider.example.com",
    staticHosts: true,
  });
  const refusal = (...names: string[]) => stage.hostnames.refusal(names, ann.owner);
  const blocked = (name: string) => `hostname not allowed: "${name}" is blocked by this provider`;
  const domain = (name: string) => `hostname not allowed: domain "${name}" is blocked by this provider`;
  assert.equal(refusal("ok.com", "WWW.foo.com"), blocked("www.foo.com"));
  assert.equal(refusal("foo.com"), undefined);
  for (const name of ["bar.com", "x.bar.com", "*.bar.com"]) assert.equal(refusal(name), domain(name));
  assert.equal(refusal("*.foo.com"), blocked("*.foo.com"));
  assert.equal(refusal("provider.example.com"), blocked("provider.example.com"));
  assert.equal(refusal("*.com"), blocked("*.com"));
  for (const name of ["ingress.example.com", "a.ingress.example.com", "*.example.com"]) {
    const [said] = [refusal(name)];
    assert.ok(said === blocked(name) || said === domain(name), said);
  }
});

test("a service has its static host, may name it, and no other lease gets it", async (t) => {
  const ingressDomain = "ingress.example.com";
  const stage = await openStage(t, { ingressDomain, staticHosts: true });
  const own = staticHost(ann, "web", ingressDomain);
  stage.want(ann, hosts(own));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { [own]: formatLeaseId(ann) });
  assert.equal(stage.hostnames.refusal(...refuse(ann, own)), undefined);
  assert.match(stage.hostnames.refusal(...refuse(ben, own)) ?? "", /is blocked by this provider/);
  stage.want(annToo, hosts(staticHost(annToo, "other", ingressDomain)));
  await stage.settled();
  const own2 = staticHost(annToo, "web", ingressDomain);
  assert.deepEqual(Object.keys(holders(stage.objects(kinds.providerHost))).sort(), [own, own2].sort());
  assert.match(stage.hostnames.withheldFrom(formatLeaseId(annToo))[0]?.reason ?? "", /given by the provider/);

  stage.want(annToo, hosts(own));
  await stage.settled();
  await assert.rejects(stage.hostnames.transfer([own], annToo, stage.wanted(annToo).hosts, never), {
    code: "AKP_HOSTNAME_NOT_ALLOWED",
    message: /given by the provider/,
  });
});

test("a wildcard and a name below it are never of two owners; one owner may have both", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("*.example.com"));
  stage.want(annToo, hosts("a.example.com"));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), {
    "*.example.com": formatLeaseId(ann),
    "a.example.com": formatLeaseId(annToo),
  });
  for (const name of ["b.example.com", "x.y.example.com", "*.y.example.com", "*.example.com"])
    assert.equal(
      stage.hostnames.refusal(...refuse(ben, name)),
      `hostname not allowed: host ${JSON.stringify(name)} in use`,
    );
  assert.equal(stage.hostnames.refusal(...refuse(ben, "example.com")), undefined);

  stage.want(ben, hosts("b.example.com"));
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["b.example.com"], undefined);
  stage.want(ann, undefined);
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["b.example.com"], formatLeaseId(ben));
  assert.match(stage.hostnames.refusal(...refuse(ann, "*.example.com")) ?? "", /in use/);
});

test("a transfer gives the asked-for names to the other lease in the same objects", async (t) => {
  const stage = await openStage(t);
  const objects = () => stage.objects(kinds.providerHost);
  stage.want(ann, hosts("a.example.com", "b.example.com"));
  await stage.settled();
  stage.want(annToo, hosts("a.example.com", "b.example.com"));
  await stage.settled();
  const uids = objects().map(({ metadata }) => metadata.uid);
  const transfer = async (names: string[], lease: LeaseId) => {
    const transferring = stage.hostnames.transfer(names, lease, stage.wanted(lease).hosts, never);
    await Promise.race([transferring, stage.settled()]);
    await transferring;
    await stage.settled();
  };
  await transfer(["a.example.com"], annToo);
  const after = { "a.example.com": formatLeaseId(annToo), "b.example.com": formatLeaseId(ann) };
  assert.deepEqual(holders(objects()), after);
  assert.deepEqual(
    objects().map(({ metadata }) => metadata.uid),
    uids,
  );
  await transfer(["a.example.com"], annToo);
  await stage.restart();
  await stage.settled();
  assert.deepEqual(holders(objects()), after);

  await assert.rejects(transfer(["c.example.com"], annToo), {
    message: 'the hostname "c.example.com" is not used by this deployment',
  });
  stage.want(ben, hosts("a.example.com"));
  await stage.settled();
  await assert.rejects(transfer(["a.example.com"], ben), {
    message: 'hostname not allowed: host "a.example.com" in use',
  });
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual(holders(objects()), {
    "a.example.com": formatLeaseId(annToo),
    "b.example.com": formatLeaseId(annToo),
  });
});

test("what another provider or nobody we know has is in use, and stays as it is", async (t) => {
  const stage = await openStage(t);
  const labels = { "akash.network": "true" };
  const strange = { metadata: { name: "a.example.com", namespace: manifestNamespace, labels }, spec: {} };
  stage.cluster.server.create(kinds.providerHost, strange, "somebody");
  await stage.settled();
  const before = stage.objects(kinds.providerHost);
  assert.match(stage.hostnames.refusal(...refuse(ann, "a.example.com")) ?? "", /in use/);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual(stage.objects(kinds.providerHost), before);
});

test("a name that somebody deletes or edits comes back", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  const [object] = stage.objects(kinds.providerHost);
  assert.ok(object);
  stage.cluster.server.delete(kinds.providerHost, object.metadata);
  await stage.settled();
  assert.equal(stage.objects(kinds.providerHost).length, 1);
  const [again] = stage.objects(kinds.providerHost);
  const spec = { ...(again?.["spec"] as object), external_port: 81 };
  stage.cluster.server.update(kinds.providerHost, { ...again, spec } as KubeObject, "kubectl");
  await stage.settled();
  assert.equal(host(stage.objects(kinds.providerHost), "a.example.com")?.["spec"]?.["external_port" as never], 80);
});
