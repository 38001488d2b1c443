import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLeaseId } from "../../market/ids.ts";
import { noOvercommit } from "../../market/overcommit.ts";
import { readSdl } from "../../market/sdl/sdl.ts";
import { leaseObjects } from "./lease-objects.ts";
import type { DesiredObject, LeaseObjects } from "./lease-workload.ts";

const lease = parseLeaseId(
  "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/12345/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6",
);
const policies = { enabled: true, admitted: [], facts: { ranges: [], apiServer: [] } };
const settings = { overcommit: noOvercommit, clusterPublicHostname: "provider.example.com", policies };

function objectsFor(services: string, compute = ""): LeaseObjects {
  const sdl = `
version: "2.1"
services: ${services}
profiles:
  compute:
    small: { resources: { cpu: { units: 100m }, memory: { size: 128Mi }, storage: { size: 128Mi } } }
    ${compute}
  placement: { dc: { pricing: { small: { denom: uact, amount: 10000 } } } }
deployment: { web: { dc: { profile: small, count: 1 } } }
`;
  const [group] = readSdl(sdl).manifest;
  assert.ok(group);
  return leaseObjects({ lease, group, offer: [] }, settings);
}

function named(objects: readonly DesiredObject[]): string[] {
  return objects.map(({ kind, object }) => `${kind.kind} ${object.metadata.name}`);
}

test("a service with a port for the ingress and one of the nodes' has what it runs in, as and behind", () => {
  const objects = objectsFor(
    "{ web: { image: nginx, expose: [{ port: 80, to: [{ global: true }] }, { port: 9000, to: [{ global: true }] }] } }",
  );
  assert.match(objects.namespace.object.metadata.name, /^[0-9a-v]{45}$/);
  assert.deepEqual(named(objects.credentials), ["ServiceAccount web"]);
  assert.deepEqual(named(objects.workloads), ["Deployment web"]);
  assert.deepEqual(named(objects.services), ["Service web", "Service web-np"]);
});
