import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleLease } from "../../../test/support/samples/lease-samples.ts";
import { providerHost, providerHostName, readProviderHost } from "./provider-host.ts";

const inCluster = { manifestNamespace: "lease" };
const objectName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

test("a host is the name of its object, as the Go provider has it, or another owner could be given the same host", () => {
  const lookalike = "hashed-potatoes.com";
  for (const host of ["example.com", "web-1.example.com", "localhost", "hashed.example.com", lookalike]) {
    assert.equal(providerHostName(host), host);
  }
});

test("what Kubernetes would not take has a name all the same, and no host can have that name", () => {
  const wildcard = providerHostName("*.example.com");
  const tooLong = `${"a.".repeat(126)}ab`;
  const odd = ["*.example.com", "*.example.org", wildcard, "hashed-", "Example.com", tooLong, ""];
  const names = odd.map(providerHostName);
  for (const [index, name] of names.entries()) {
    assert.match(name, objectName);
    assert.ok(name.length <= 253 && name !== odd[index], name);
  }
  assert.equal(new Set([...names, ...odd]).size, 2 * odd.length - 1, "a hashed name of one is another's host");
});

test("a lease whose number is no exact JSON number is read from the labels", () => {
  for (const dseq of [2n ** 53n, 2n ** 64n - 1n]) {
    const declaration = { lease: { ...sampleLease, dseq }, host: "*.example.com", service: "web", externalPort: 80 };
    const { object } = providerHost(declaration, inCluster);
    assert.equal((object["spec"] as { dseq?: number }).dseq, undefined);
    assert.deepEqual(readProviderHost(object), declaration);
  }
});

test("one without labels is read from its fields, and one that names no host is none", () => {
  const declaration = { lease: sampleLease, host: "example.com", service: "web", externalPort: 80 };
  const { object } = providerHost(declaration, inCluster);
  const { name } = object.metadata;
  assert.deepEqual(readProviderHost({ ...object, metadata: { name } }), declaration);
  assert.equal(readProviderHost({ ...object, spec: {} }), undefined);
  assert.equal(readProviderHost({ metadata: { name }, spec: { hostname: "example.com" } }), undefined);
});
