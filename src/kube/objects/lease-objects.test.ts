import assert from "node:assert/strict";
import { test } from "node:test";
import {
  objectSettings,
  sampleExpose,
  sampleService,
  sampleWorkload,
} from "../../../test/support/samples/lease-samples.ts";
import type { ManifestService } from "../../market/manifest.ts";
import { leaseObjects } from "./lease-objects.ts";
import type { DesiredObject } from "./lease-workload.ts";

function namesOf(...services: ManifestService[]) {
  const { namespace, ...objects } = leaseObjects(sampleWorkload(...services), objectSettings);
  const named = (step: readonly DesiredObject[]) =>
    step.map(({ kind, object }) => `${kind.kind} ${object.metadata.name}`);
  return Object.fromEntries(Object.entries(objects).map(([step, each]) => [step, named(each)]));
}

test("a service with a port for the ingress and one of the nodes' has what it runs in, as and behind", () => {
  const { namespace } = leaseObjects(sampleWorkload(), objectSettings);
  assert.match(namespace.object.metadata.name, /^[0-9a-v]{45}$/);
  assert.equal(namespace.object.metadata.labels?.["pod-security.kubernetes.io/enforce"], "baseline");
  assert.deepEqual(namesOf(sampleService({ expose: [sampleExpose, { ...sampleExpose, port: 9_000 }] })), {
    policies: ["NetworkPolicy akash-deployment-restrictions", "NetworkPolicy akash-web-np"],
    credentials: [],
    workloads: ["Deployment web"],
    services: ["Service web", "Service web-np"],
  });
});

test("a service that may read and pulls with a secret of its own has both", () => {
  const params = { storage: null, permissions: { read: ["logs"] } };
  const credentials = { host: "registry.example.com", email: "", username: "a", password: "b" };
  assert.deepEqual(namesOf(sampleService({ params, credentials }))["credentials"], [
    "ServiceAccount web",
    "Role web",
    "RoleBinding web",
    "Secret docker-creds-web",
  ]);
});

test("words that is unknown permit nothing, whatever they are", () => {
  const read = ["logs", "__proto__", "constructor", "toString", "secrets"];
  const rulesFor = (words: readonly string[]) => {
    const service = sampleService({ params: { storage: null, permissions: { read: words } } });
    const { credentials } = leaseObjects(sampleWorkload(service), objectSettings);
    return credentials.find(({ kind }) => kind.kind === "Role")?.object["rules"];
  };
  assert.deepEqual(rulesFor(read), rulesFor(["logs"]));
  assert.deepEqual(rulesFor(["secrets"]), []);
});

test("no two objects of a lease have the same name, however its services are called", () => {
  const open = { expose: [sampleExpose, { ...sampleExpose, port: 9_000 }] };
  const services = ["web", "web-np"].map((name) => sampleService({ name, ...open }));
  for (const [step, names] of Object.entries(namesOf(...services))) {
    assert.equal(new Set(names).size, names.length, step);
  }
});
