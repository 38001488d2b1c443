/** Malicious manifests: each is rejected with a short reason in little time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleExpose, sampleResources, sampleService } from "../../test/support/samples/lease-samples.ts";
import { ProviderError } from "../runtime/errors.ts";
import { manifestBytes } from "../runtime/limits.ts";
import type { ManifestService } from "./manifest.ts";
import { readManifest } from "./manifest-json.ts";
import { mismatchOf } from "./manifest-match.ts";
import { faultsOfManifest } from "./manifest-rules.ts";

const mostBytes = manifestBytes;

test("a body of many empty services is rejected before they are expanded", () => {
  const nothing = Array<null>(20_000).fill(null);
  for (const services of [nothing, nothing.map(() => ({}))]) {
    const thrown = catchOf(() => readManifest(JSON.stringify([{ services }]), mostBytes));
    assert.equal(thrown.message, "it has more than 10000 parts");
  }
});

test("long input is shortened in errors", () => {
  const long = "7".repeat(100_000);
  const number = catchOf(() => readManifest(`[{"services":[{"count":${long}}]}]`, mostBytes));
  assert.match(number.message, /^json: cannot unmarshal number 7{64} into Go struct field/);
  const group = { name: "dc", units: [], requirements: { attributes: [], allOf: [], anyOf: [] } };
  const unknown = mismatchOf([{ name: long, services: [] }], [group]) ?? "";
  assert.match(unknown, /^invalid manifest: unknown deployment group \('7{512}'\)$/);
  assert.ok((faultsOf({ image: ` ${long}` })[0] ?? "").length < 1_000);
});

test("a manifest that is too large in the cluster's form is rejected", () => {
  const versionOf = (sign: string) =>
    readManifest(JSON.stringify([{ services: [{ env: [sign.repeat(mostBytes / 2)] }] }]), mostBytes).version();
  assert.match(versionOf("a"), /^[0-9a-f]{64}$/);
  assert.equal(catchOf(() => versionOf("<")).code, "AKP_MANIFEST_TOO_LARGE");
});

test("a hash over unknown fields is never ambiguous", () => {
  const rawVersion = (fields: string) => readManifest(`[{"services":[{${fields},"new":1}]}]`, mostBytes).rawVersion();
  assert.notEqual(rawVersion('"image":"a"'), undefined);
  for (const fields of ['"image":"a","IMAGE":"b"', '"IMAGE":"b","image":"a"', '"image":"a","image":null', '"x":1e400'])
    assert.equal(rawVersion(fields), undefined, fields);
});

test("what Kubernetes would reject is rejected with a message", () => {
  const cases: [Partial<ManifestService>, string][] = [
    [
      { expose: [{ ...sampleExpose, externalPort: 65_536 }] },
      'service "web": external port value must be 0 <= value <= 65535',
    ],
    [{ expose: [{ ...sampleExpose, hosts: ["10.0.0.1"] }] }, 'service "web": has invalid hostname "10.0.0.1"'],
    [{ image: " nginx" }, 'service "web" has an invalid image name " nginx"'],
    [{ image: "nginx\n" }, 'service "web" has an invalid image name "nginx\\n"'],
    [{ image: "ngin\u0445" }, 'service "web" has an invalid image name "ngin\u0445"'],
    [{ ...mounting("/a", "/b", "/a") }, 'service "web": mount path "/a" is given twice'],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(faultsOf(changes), [`invalid manifest: ${expected}`]);
  assert.deepEqual(faultsOf({ ...mounting("", "/b", "") }), [], "not mounted");
  assert.deepEqual(faultsOf({ image: "ghcr.io:443/a_b/c--d:1.0@sha256:0123" }), []);
});

test("exponential references between variables are rejected", () => {
  const doubling = ["V0=eight by", ...Array.from({ length: 40 }, (_, n) => `V${n + 1}=$(V${n})$(V${n})`)];
  const fault = 'invalid manifest: service "web": references to env. vars. make too much of it';
  assert.deepEqual(faultsOf({ env: doubling }), [fault]);
  assert.deepEqual(faultsOf({ env: doubling.map((variable) => variable.replaceAll("$(", "$$$$(")) }), [], "escaped");
  assert.deepEqual(faultsOf({ env: doubling.slice(0, 12) }), []);
  const large = [`A=${"a".repeat(10_000)}`];
  assert.deepEqual(faultsOf({ env: large, args: ["$(A)".repeat(1_000)] }), [fault]);
  assert.deepEqual(faultsOf({ env: large, args: ["$(A)".repeat(10), "$(B)".repeat(1_000)] }), []);
});

test("the number of host names of a manifest is limited", () => {
  const hosts = Array.from({ length: 1_000 }, (_, n) => `h${n}.example.com`);
  assert.deepEqual(faultsOf({ expose: [{ ...sampleExpose, hosts }] }), []);
  const [fault] = faultsOf({ expose: [{ ...sampleExpose, hosts: [...hosts, "one.example.com"] }] });
  assert.equal(fault, 'invalid manifest: service "web": more than 1000 hostnames are given');
  const wildcards = hosts.slice(0, 101).map((host) => `*.${host}`);
  const [wild] = faultsOf({ expose: [{ ...sampleExpose, hosts: wildcards }] });
  assert.equal(wild, 'invalid manifest: service "web": more than 100 wildcards are given');
  assert.deepEqual(faultsOf({ expose: [{ ...sampleExpose, hosts: wildcards.slice(1) }] }), []);
});

function faultsOf(changes: Partial<ManifestService>): string[] {
  return faultsOfManifest([{ name: "dc", services: [sampleService(changes)] }]);
}

function mounting(...mounts: string[]): Partial<ManifestService> {
  const names = mounts.map((_, index) => `v${index}`);
  return {
    resources: { ...sampleResources, storage: names.map((name) => ({ name, size: { val: "1" } })) },
    params: { storage: names.map((name, index) => ({ name, mount: mounts[index] ?? "", readOnly: false })) },
  };
}

function catchOf(act: () => unknown): ProviderError {
  try {
    act();
  } catch (thrown) {
    assert.ok(thrown instanceof ProviderError);
    return thrown;
  }
  assert.fail("the manifest was not rejected");
}
