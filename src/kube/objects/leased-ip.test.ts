import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleLease } from "../../../test/support/samples/lease-samples.ts";
import { leasedIp, leasedIpName, readLeasedIp, sharingKey } from "./leased-ip.ts";

const { owner } = sampleLease;

test("an address is shared by the name that its owner gives it; an odd or long name is hashed", () => {
  assert.equal(sharingKey(owner, "blue"), `${owner}-ip-blue`);
  // As the Go provider was seen to do.
  assert.equal(sharingKey(owner, "my_ip"), `${owner}-ip-m9fo0a1emsme20vtunjnvqbp`);
  const long = sharingKey(owner, "a".repeat(200));
  assert.equal(long.length, `${owner}-ip-`.length + 24);
  assert.notEqual(long, sharingKey(owner, "a".repeat(201)));
});

test("each port and protocol of an address is an object", () => {
  const key = sharingKey(owner, "blue");
  const name = (protocol: "TCP" | "UDP", externalPort: number) =>
    leasedIpName({ sharingKey: key, protocol, externalPort });
  assert.equal(name("TCP", 53), `${owner}-ip-blue-tcp-53`);
  assert.equal(name("UDP", 53), `${owner}-ip-blue-udp-53`);
});

test("both labels say that it is managed, and it is read as it was declared", () => {
  const port = {
    service: "web",
    port: 8080,
    externalPort: 53,
    protocol: "UDP",
    sharingKey: `${owner}-ip-blue`,
  } as const;
  const { object } = leasedIp({ lease: sampleLease, ...port }, { manifestNamespace: "lease" });
  const { labels } = object.metadata;
  assert.equal(labels?.["akash.network"], "true");
  assert.equal(labels["akash.network/managed"], "true");
  assert.deepEqual([labels["service-name"], labels["external-port"], labels["proto"]], ["web", "53", "UDP"]);
  assert.deepEqual(readLeasedIp(object), { lease: sampleLease, ...port });
});

test("a resource without a lease or port is ignored", () => {
  const metadata = { name: "strange" };
  assert.equal(readLeasedIp({ metadata, spec: { port: 80 } }), undefined);
  const leaseID = { owner, dseq: 1, gseq: 1, oseq: 1 };
  assert.equal(readLeasedIp({ metadata, spec: { leaseID } }, sampleLease.provider), undefined);
  assert.equal(readLeasedIp({ metadata, spec: { leaseID, port: "x" } }, sampleLease.provider), undefined);
});
