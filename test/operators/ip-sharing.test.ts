/** From a manifest to the address: which endpoints are on one, as the provider's way of sharing has it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AddressSharing, addressesWanted } from "../../src/cluster/capacity/addresses/lease-addresses.ts";
import { leasedIpName } from "../../src/kube/objects/leased-ip.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { type IpStage, type IpStageOptions, leaseOf, openIpStage } from "../support/stages/ip-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 3)];

/** A deployment with a port on each of these endpoints. */
function groupWith(...endpoints: readonly string[]) {
  const resources = { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] };
  const expose = endpoints.map((ip, at) => ({ port: 8080, as: 80 + at, to: [{ global: true, ip }] }));
  const sdl = readSdl(
    JSON.stringify({
      version: "2.1",
      endpoints: Object.fromEntries(endpoints.map((each) => [each, { kind: "ip" }])),
      services: { web: { image: "page:1", expose } },
      profiles: {
        compute: { small: { resources } },
        placement: { box: { pricing: { small: { denom: "uact", amount: 10_000 } } } },
      },
      deployment: { web: { box: { profile: "small", count: 1 } } },
    }),
  );
  const [group] = sdl.manifest;
  assert.ok(group);
  return group;
}

function deploy(stage: IpStage, sharing: AddressSharing): void {
  const groups = [
    [ann, groupWith("blue", "green")],
    // Of the same owner: the port of its other endpoint.
    [annToo, groupWith("red", "yellow", "white")],
    [ben, groupWith("blue")],
  ] as const;
  for (const [lease, group] of groups) {
    // What another lease of its owner has is withheld from it: the port 80 and 81 of the only address.
    const taken = sharing === "owner" && lease === annToo ? [80, 81] : [];
    for (const { endpoint: _, ...wanted } of addressesWanted({ lease, group }, sharing))
      if (!taken.includes(wanted.externalPort)) stage.declare(lease, wanted);
  }
}

/** "80 of 1 at 172.30.0.200" */
const shownPorts = (stage: IpStage) =>
  stage.shown().map((each) => each.replace(/^.* TCP (\d+) → web:8080 (.*)$/, "$1 $2"));

const ways: Readonly<Record<string, IpStageOptions>> = {
  "a pool of MetalLB's": {},
  "a range of its own": { pool: "", ranges: ["172.30.0.200-172.30.0.207"] },
};
for (const [name, options] of Object.entries(ways)) {
  test(`with one address for an owner, endpoints of all its leases are on one, of ${name}`, async (t) => {
    const stage = await openIpStage(t, options);
    deploy(stage, "owner");
    await stage.settled(30_000);
    const addresses = new Map([ann, ben].map(({ owner }) => [owner, new Set<string>()]));
    for (const each of stage.services()) {
      const owner = each.metadata.labels?.["akash.network/lease.id.owner"];
      const shown = JSON.stringify(each["status"]).match(/\d+\.\d+\.\d+\.\d+/)?.[0] ?? "none";
      addresses.get(owner as typeof ann.owner)?.add(shown);
    }
    const [anns, bens] = [...addresses.values()].map((each) => [...each]);
    assert.deepEqual([anns?.length, bens?.length, stage.operator.usage.inUse], [1, 1, 2n]);
    assert.notDeepEqual(anns, bens);
    assert.deepEqual(
      shownPorts(stage)
        .map((each) => each.replace(/ at .*/, ""))
        .sort(),
      ["80 of 1", "80 of 3", "81 of 1", "82 of 2"],
    );
    assert.deepEqual(stage.operator.conditions, []);
    // The owner keeps the address while one of its leases has a port of it.
    for (const externalPort of [80, 81]) stage.withdraw(ann, { sharingKey: ann.owner, externalPort });
    await stage.settled(30_000);
    assert.deepEqual(
      shownPorts(stage).filter((each) => each.includes("of 2")),
      [`82 of 2 at ${anns?.[0]}`],
    );
  });
}

test("with one address for an owner, a resource is named by owner, protocol and port; else the endpoint is in the name", () => {
  const namesOf = (sharing?: AddressSharing) =>
    addressesWanted({ lease: ann, group: groupWith("blue", "green") }, sharing).map(leasedIpName);
  assert.deepEqual(namesOf("owner"), [`${ann.owner}-tcp-80`, `${ann.owner}-tcp-81`]);
  assert.deepEqual(namesOf(), [`${ann.owner}-ip-blue-tcp-80`, `${ann.owner}-ip-green-tcp-81`]);
});

test("with one address for an endpoint, each has its own, also of one owner", async (t) => {
  const stage = await openIpStage(t, { pool: "172.30.0.200/28" });
  deploy(stage, "endpoint");
  await stage.settled(30_000);
  const addresses = shownPorts(stage).map((each) => each.replace(/^.* at /, ""));
  assert.deepEqual([addresses.length, new Set(addresses).size, stage.operator.usage.inUse], [6, 6, 6n]);
});
