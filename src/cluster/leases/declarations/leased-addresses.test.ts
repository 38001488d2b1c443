import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOf, leaseOf, manifestNamespace, openStage } from "../../../../test/support/stages/declaration-stage.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { leasedIp, readLeasedIp, sharingKey } from "../../../kube/objects/leased-ip.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import type { ManifestExpose } from "../../../market/manifest.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const never = new AbortController().signal;

type Port = Partial<ManifestExpose>;
const blue: Port = { ip: "blue", port: 8080, externalPort: 80 };

/** "blue TCP 80 → web:8080 of 1", by whose owner it is. */
function ports(objects: readonly KubeObject[], owner: LeaseId): string[] {
  return objects
    .flatMap((object) => readLeasedIp(object) ?? [])
    .filter(({ lease }) => lease.owner === owner.owner)
    .map((each) => {
      const endpoint = each.sharingKey.replace(`${owner.owner}-ip-`, "");
      return `${endpoint} ${each.protocol} ${each.externalPort} → ${each.service}:${each.port} of ${each.lease.dseq}`;
    })
    .sort();
}

async function openWith(...given: Parameters<typeof openStage>) {
  const stage = await openStage(...given);
  const objects = () => stage.objects(kinds.providerLeasedIp);
  return {
    objects,
    of: (lease: LeaseId) => ports(objects(), lease),
    uids: () => objects().map(({ metadata }) => metadata.uid),
    withheldFrom: (lease: LeaseId) => stage.addresses.withheldFrom(formatLeaseId(lease)),
    /** Lets the cluster answer meanwhile. */
    async during(work: Promise<void>) {
      await Promise.race([work.catch(() => undefined), stage.settled()]);
      await work;
      await stage.settled();
    },
    stage,
  };
}

test("ports on leased addresses are declared with both labels, and gone with the lease", async (t) => {
  const { stage, of, objects } = await openWith(t);
  stage.want(ann, groupOf(blue, { ...blue, proto: "UDP" }, { ip: "green", port: 53, externalPort: 0 }, { port: 81 }));
  stage.want(ben, groupOf(blue));
  await stage.settled();
  assert.deepEqual(of(ann), [
    "blue TCP 80 → web:8080 of 1",
    "blue UDP 80 → web:8080 of 1",
    "green TCP 53 → web:53 of 1",
  ]);
  assert.deepEqual(of(ben), ["blue TCP 80 → web:8080 of 1"]);
  for (const { metadata } of objects()) {
    assert.equal(metadata.labels?.["akash.network"], "true");
    assert.equal(metadata.labels?.["akash.network/managed"], "true");
  }
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual([of(ann), of(ben)], [[], ["blue TCP 80 → web:8080 of 1"]]);
});

test("a port that two services want on one address leads to the first, and is written once", async (t) => {
  const { stage, of, objects } = await openWith(t);
  const [web] = groupOf(blue).services;
  const [api] = groupOf({ ...blue, port: 9090 }).services;
  assert.ok(web && api);
  stage.want(ann, { name: "dc", services: [web, { ...api, name: "api" }] });
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 80 → web:8080 of 1"]);
  const [before] = objects();
  stage.want(ann, { name: "dc", services: [web, { ...api, name: "api" }] });
  await stage.settled();
  assert.equal(objects()[0]?.metadata.resourceVersion, before?.metadata.resourceVersion);
});

test("a container port that changed is written to the object that is there", async (t) => {
  const { stage, of, uids } = await openWith(t);
  stage.want(ann, groupOf(blue));
  await stage.settled();
  const before = uids();
  stage.want(ann, groupOf({ ...blue, port: 9090 }));
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 80 → web:9090 of 1"]);
  assert.deepEqual(uids(), before);
});

test("an external port that changed leaves the old one behind no longer", async (t) => {
  const { stage, of } = await openWith(t);
  stage.want(ann, groupOf(blue, { ip: "green", externalPort: 443 }));
  await stage.settled();
  stage.want(ann, groupOf({ ...blue, externalPort: 81 }, { ip: "green", externalPort: 443 }));
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 81 → web:8080 of 1", "green TCP 443 → web:8080 of 1"]);
});

test("a renamed endpoint takes nothing from other leases", async (t) => {
  const { stage, of, uids } = await openWith(t);
  stage.want(ben, groupOf(blue, { ip: "green", externalPort: 443 }));
  stage.want(annToo, groupOf({ ...blue, externalPort: 82 }));
  await stage.settled();
  const others = uids();
  stage.want(ann, groupOf(blue));
  await stage.settled();
  stage.want(ann, groupOf({ ...blue, ip: "red" }));
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 82 → web:8080 of 2", "red TCP 80 → web:8080 of 1"]);
  assert.equal(others.filter((uid) => uids().includes(uid)).length, 3);
});

test("a port that another lease of the owner has is withheld, and had when that one is gone", async (t) => {
  const { stage, of, withheldFrom } = await openWith(t);
  stage.want(ann, groupOf(blue));
  await stage.settled();
  stage.want(annToo, groupOf(blue, { ...blue, externalPort: 81 }));
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 80 → web:8080 of 1", "blue TCP 81 → web:8080 of 2"]);
  const withheld = withheldFrom(annToo)[0]?.wanted;
  assert.deepEqual([withheld?.endpoint, withheld?.externalPort, withheld?.protocol], ["blue", 80, "TCP"]);
  stage.want(ann, undefined);
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 80 → web:8080 of 2", "blue TCP 81 → web:8080 of 2"]);
  assert.deepEqual(withheldFrom(annToo), []);
});

test("a transfer moves the ports of the requested endpoints in the same objects", async (t) => {
  const { stage, of, uids, during } = await openWith(t);
  stage.want(ann, groupOf(blue, { ip: "green", externalPort: 443 }));
  await stage.settled();
  stage.want(annToo, groupOf(blue, { ip: "green", externalPort: 443 }));
  await stage.settled();
  const before = uids();
  const transfer = (names: string[], lease: LeaseId) =>
    during(stage.addresses.transfer(names, lease, stage.wanted(lease).addresses, never));
  await transfer(["blue"], annToo);
  assert.deepEqual(of(ann), ["blue TCP 80 → web:8080 of 2", "green TCP 443 → web:8080 of 1"]);
  assert.deepEqual(uids(), before);
  await assert.rejects(transfer(["red"], annToo), {
    message: 'the endpoint "red" does not exist in the destination deployment',
  });
  await stage.restart();
  await stage.settled();
  assert.deepEqual(of(ann), ["blue TCP 80 → web:8080 of 2", "green TCP 443 → web:8080 of 1"]);
});

test("a transfer with a port of another owner or another provider is rejected, and no port moves", async (t) => {
  const { stage, of, during } = await openWith(t);
  const green: Port = { ip: "green", port: 443, externalPort: 443 };
  const ports = { service: "web", port: 1, protocol: "TCP" } as const;
  const other = { provider: leaseOf(9, 1).owner };
  // Under the names of the wanted ports. A lease of ours that wants nothing would give them back.
  const foreign: [LeaseId, string, number][] = [
    [{ ...ben, ...other }, "green", 443],
    [{ ...ann, ...other }, "red", 22],
  ];
  for (const [lease, endpoint, externalPort] of foreign) {
    const declaration = { lease, ...ports, externalPort, sharingKey: sharingKey(ann.owner, endpoint) };
    stage.cluster.server.create(kinds.providerLeasedIp, leasedIp(declaration, { manifestNamespace }).object, "test");
  }
  stage.want(ann, groupOf(blue));
  await stage.settled();
  stage.want(annToo, groupOf(blue, green, { ip: "red", port: 22, externalPort: 22 }));
  await stage.settled();
  const before = [of(ann), of(ben)];
  for (const [, endpoint] of foreign)
    await assert.rejects(
      during(stage.addresses.transfer(["blue", endpoint], annToo, stage.wanted(annToo).addresses, never)),
      { code: "AKP_ADDRESS_IN_USE" },
    );
  assert.deepEqual([of(ann), of(ben)], before);
});

test("a restart with nothing to do writes nothing", async (t) => {
  const { stage, objects } = await openWith(t);
  stage.want(ann, groupOf(blue, { ip: "my_ip", externalPort: 443 }));
  stage.want(annToo, groupOf(blue));
  await stage.settled();
  const before = objects();
  await stage.restart();
  await stage.settled();
  assert.equal(stage.kube.counts.applied, 0);
  assert.deepEqual(objects(), before);
});
