import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DeclarationStage,
  groupOf,
  hosts,
  leaseOf,
  manifestNamespace,
  openStage,
} from "../../../../test/support/stages/declaration-stage.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { readProviderHost } from "../../../kube/objects/provider-host.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { staticHost } from "../../../market/lease-namespace.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const never = new AbortController().signal;

const host = (objects: readonly KubeObject[], name: string) =>
  objects.find((each) => readProviderHost(each)?.host === name);

function holders(objects: readonly KubeObject[]): Record<string, string> {
  const read = objects.map((object) => readProviderHost(object));
  return Object.fromEntries(read.map((each) => [each?.host, each && formatLeaseId(each.lease)]));
}

/** The most owners that had a name of these tests at once, by what the server had after each write. */
function watchOwners(stage: DeclarationStage): { most: number } {
  const seen = { most: 0 };
  stage.cluster.server.subscribe(() => {
    const owners = new Set(stage.objects(kinds.providerHost).map((each) => readProviderHost(each)?.lease.owner));
    seen.most = Math.max(seen.most, owners.size);
  });
  return seen;
}

const hostsFor = (lease: LeaseId, ...names: string[]) => [names, lease.owner] as const;

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
  assert.equal(withheld?.wanted.host, "a.example.com");
  assert.match(withheld?.reason ?? "", /held by lease .*\/1\/1\/1\/.* of the same owner/);
  stage.want(ann, undefined);
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["a.example.com"], formatLeaseId(annToo));
  assert.deepEqual(stage.hostnames.withheldFrom(formatLeaseId(annToo)), []);
});

test("a name of another owner is rejected in the network's words, and stays as it is", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  const before = stage.objects(kinds.providerHost);
  assert.equal(
    stage.hostnames.rejection(["A.Example.com"], ben.owner),
    'hostname not allowed: host "a.example.com" in use',
  );
  assert.equal(stage.hostnames.rejection(...hostsFor(ann, "a.example.com")), undefined);
  stage.want(ben, hosts("a.example.com"));
  await stage.settled();
  assert.deepEqual(stage.objects(kinds.providerHost), before);
  const withheld = stage.hostnames.withheldFrom(formatLeaseId(ben));
  assert.deepEqual(
    withheld.map(({ wanted: { host }, reason, isOwners }) => [host, reason, isOwners]),
    [["a.example.com", "held by another owner", false]],
  );
});

test("two tenants send the same name at once → one gets it, the other is rejected at once", async (t) => {
  const stage = await openStage(t);
  stage.hostnames.allow(...hostsFor(ben, "A.example.com"));
  const inUse = 'hostname not allowed: host "a.example.com" in use';
  assert.equal(stage.hostnames.rejection(...hostsFor(ann, "a.example.com")), inUse);
  assert.equal(
    stage.hostnames.rejection(...hostsFor(ann, "*.example.com")),
    'hostname not allowed: host "*.example.com" in use',
  );
  stage.want(ben, hosts("a.example.com"));
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ben) });
});

test("what was allowed and never came is free again after a while", async (t) => {
  const stage = await openStage(t);
  stage.hostnames.allow(...hostsFor(ben, "a.example.com"));
  await stage.clock.advance(61_000);
  assert.equal(stage.hostnames.rejection(...hostsFor(ann, "a.example.com")), undefined);
});

test("a check for a name does not claim it", async (t) => {
  const stage = await openStage(t);
  for (const lease of [ben, ann])
    assert.equal(stage.hostnames.rejection(...hostsFor(lease, "*.example.com")), undefined);
});

test("two loops that declare one name at once: one gets it, whatever the cluster takes its time with", async (t) => {
  const stage = await openStage(t);
  stage.want(ben, hosts("a.example.com", "b.example.com"));
  stage.want(ann, hosts("b.example.com", "a.example.com"));
  await stage.settled();
  const owners = new Set(Object.values(holders(stage.objects(kinds.providerHost))));
  assert.equal(owners.size, 1);
});

test("blocked names, the provider's own, and those below the ingress domain are rejected", async (t) => {
  const stage = await openStage(t, {
    blockedHosts: ["www.foo.com", ".bar.com"],
    ingressDomain: "ingress.example.com",
    publicHost: "provider.example.com",
    staticHosts: true,
  });
  const rejection = (...names: string[]) => stage.hostnames.rejection(names, ann.owner);
  const blocked = (name: string) => `hostname not allowed: "${name}" is blocked by this provider`;
  const domain = (name: string) => `hostname not allowed: domain "${name}" is blocked by this provider`;
  assert.equal(rejection("ok.com", "WWW.foo.com"), blocked("www.foo.com"));
  assert.equal(rejection("foo.com"), undefined);
  for (const name of ["bar.com", "x.bar.com", "*.bar.com"]) assert.equal(rejection(name), domain(name));
  assert.equal(rejection("*.foo.com"), blocked("*.foo.com"));
  assert.equal(rejection("provider.example.com"), blocked("provider.example.com"));
  assert.equal(rejection("*.com"), blocked("*.com"));
  for (const name of ["ingress.example.com", "a.ingress.example.com", "*.example.com"]) {
    const [said] = [rejection(name)];
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
  assert.equal(stage.hostnames.rejection(...hostsFor(ann, own)), undefined);
  assert.match(stage.hostnames.rejection(...hostsFor(ben, own)) ?? "", /is blocked by this provider/);
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
      stage.hostnames.rejection(...hostsFor(ben, name)),
      `hostname not allowed: host ${JSON.stringify(name)} in use`,
    );
  assert.equal(stage.hostnames.rejection(...hostsFor(ben, "example.com")), undefined);

  stage.want(ben, hosts("b.example.com"));
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["b.example.com"], undefined);
  stage.want(ann, undefined);
  await stage.settled();
  assert.equal(holders(stage.objects(kinds.providerHost))["b.example.com"], formatLeaseId(ben));
  assert.match(stage.hostnames.rejection(...hostsFor(ann, "*.example.com")) ?? "", /in use/);
});

test("where host names are proven, only names of the same kind overlap between owners", async (t) => {
  const stage = await openStage(t, { requiresProof: true });
  stage.want(ann, hosts("*.example.com", "www.example.com"));
  await stage.settled();
  for (const name of ["www.example.com", "*.example.com", "*.a.example.com"])
    assert.match(stage.hostnames.rejection(...hostsFor(ben, name)) ?? "", /in use/);
  assert.equal(stage.hostnames.rejection(...hostsFor(ben, "shop.example.com")), undefined);
  stage.want(ben, hosts("shop.example.com"));
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), {
    "*.example.com": formatLeaseId(ann),
    "shop.example.com": formatLeaseId(ben),
    "www.example.com": formatLeaseId(ann),
  });
  stage.want(ann, undefined);
  await stage.settled();
  assert.equal(stage.hostnames.rejection(...hostsFor(ann, "*.example.com")), undefined);
});

test("a transfer gives the requested names to the other lease in the same objects", async (t) => {
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

// One that begins as our hashed names do is named by its host all the same, as the Go provider does it.
for (const name of ["a.example.com", "hashed-potatoes.com"]) {
  test(`a name of another or an unknown provider is in use, and stays as it is: ${name}`, async (t) => {
    const stage = await openStage(t);
    const labels = { "akash.network": "true" };
    const strange = { metadata: { name, namespace: manifestNamespace, labels }, spec: {} };
    stage.cluster.server.create(kinds.providerHost, strange, "somebody");
    await stage.settled();
    const before = stage.objects(kinds.providerHost);
    assert.match(stage.hostnames.rejection(...hostsFor(ann, name)) ?? "", /in use/);
    stage.want(ann, hosts(name));
    await stage.settled();
    stage.want(ann, undefined);
    await stage.settled();
    assert.deepEqual(stage.objects(kinds.providerHost), before);
  });
}

test("a ProviderHost that is deleted or edited is restored", async (t) => {
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

test("a name given up before the cache showed it is not believed to be had when the cache does", async (t) => {
  const stage = await openStage(t);
  const owners = watchOwners(stage);
  stage.cluster.faults.lagWatches(300);
  stage.want(ben, hosts("*.example.com"));
  await stage.clock.advance(0);
  stage.want(ben, undefined);
  await stage.clock.advance(0);
  stage.want(ann, hosts("a.example.com"));
  await stage.clock.advance(0);
  stage.want(ben, hosts("*.example.com"));
  await stage.settled();
  assert.equal(owners.most, 1);
  // Wanted again before it was free, it is still ben's.
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "*.example.com": formatLeaseId(ben) });
  stage.want(ben, undefined);
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ann) });
  assert.equal(owners.most, 1);
});

test("the end of an object that the cache hears of late does not free the name, which was written again since", async (t) => {
  const stage = await openStage(t);
  const owners = watchOwners(stage);
  stage.want(ben, hosts("*.example.com"));
  await stage.settled();
  stage.cluster.faults.lagWatches(300);
  stage.want(ben, undefined);
  await stage.clock.advance(200);
  stage.want(ben, hosts("*.example.com"));
  await stage.clock.advance(50);
  // Its end is heard of at 300, and that it is there again at 500: in between it is being given up.
  stage.cluster.faults.slow(100);
  stage.want(ben, hosts());
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  assert.equal(owners.most, 1);
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ann) });
});

test("a write whose answer was lost holds the name until the server has said what became of it", async (t) => {
  const stage = await openStage(t);
  const owners = watchOwners(stage);
  stage.cluster.faults.lagWatches(300);
  stage.cluster.faults.loseAnswer({ verb: "patch", kind: kinds.providerHost, times: 100 });
  stage.want(ben, hosts("*.example.com"));
  await stage.clock.advance(0);
  assert.equal(stage.objects(kinds.providerHost).length, 1);
  stage.want(ben, undefined);
  stage.want(ann, hosts("a.example.com"));
  await stage.clock.advance(100);
  stage.cluster.faults.clear();
  await stage.settled(60_000);
  assert.equal(owners.most, 1);
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ann) });
});

test("a name left for a lease that never got it goes when that one is over too", async (t) => {
  const stage = await openStage(t);
  stage.want(ann, hosts("a.example.com"));
  await stage.settled();
  stage.want(annToo, hosts("a.example.com"));
  await stage.settled();
  stage.cluster.faults.forbid("patch", kinds.providerHost);
  const transferring = stage.hostnames.transfer(["a.example.com"], annToo, stage.wanted(annToo).hosts, never);
  const rejected = assert.rejects(transferring);
  await stage.clock.advance(0);
  await rejected;
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual(holders(stage.objects(kinds.providerHost)), { "a.example.com": formatLeaseId(ann) });
  stage.want(annToo, undefined);
  await stage.settled(60_000);
  assert.deepEqual(stage.objects(kinds.providerHost), []);
});
