import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyWorkload } from "../../../test/support/random-workload.ts";
import { runs } from "../../../test/support/runs.ts";
import { objectSettings, sampleLease } from "../../../test/support/samples/lease-samples.ts";
import { recordedLeases } from "../../../test/support/samples/recorded-leases.ts";
import type { KubeObject } from "../kube.ts";
import { goProviderEntry } from "../owned-fields.ts";
import type { ObjectSettings } from "./container.ts";
import { leaseObjects } from "./lease-objects.ts";
import type { LeaseWorkload } from "./lease-workload.ts";
import { manifestResource } from "./manifest-resource.ts";
import { readManifestResource } from "./read-manifest-resource.ts";

const inCluster = { manifestNamespace: "lease" };
const apiServer = [{ ip: "10.0.0.1", port: 6443 }];
const settings: ObjectSettings = {
  ...objectSettings,
  policies: { enabled: true, admitted: [], facts: { ranges: [], apiServer } },
};
const receivedAtMs = Date.UTC(2026, 10, 16, 7, 0, 0, 123);

test("a lease that is rebuilt from its resource has the same objects, whatever the tenant sent", () => {
  fc.assert(
    fc.property(anyWorkload, (workload) => {
      const note = { version: "00ff", receivedAtMs };
      const object = asSent(manifestResource(workload, note, inCluster).object);
      const read = readManifestResource(object);
      assert.ok(read);
      const { lease, group, ...kept } = read;
      assert.deepEqual(kept, note);
      const rebuilt = { ...workload, lease, group };
      assert.deepEqual(asSent(leaseObjects(rebuilt, settings)), asSent(leaseObjects(workload, settings)));
      assert.deepEqual(asSent(manifestResource(rebuilt, note, inCluster).object), object);
    }),
    { numRuns: runs(100, 3_000) },
  );
});

test("what the Go provider kept of a manifest gives the same objects as the manifest", () => {
  let count = 0;
  for (const { from, workload, objects } of recordedLeases()) {
    const resource = objects.find(({ kind }) => kind === "Manifest");
    // Of some the resource was not recorded, or another manifest was in force.
    if (!resource || /touched-cr|update\//.test(from)) continue;
    const read = readManifestResource(resource);
    assert.ok(read, from);
    assert.equal(read.version, "");
    const { time } = goProviderEntry(resource.metadata) ?? {};
    const madeAtMs = Date.parse(resource.metadata.creationTimestamp ?? "");
    assert.equal(read.receivedAtMs, time === undefined ? madeAtMs : Date.parse(time) + 999);
    const rebuilt = { ...workload, lease: read.lease, group: read.group };
    assert.deepEqual(leaseObjects(rebuilt, settings), leaseObjects(workload, settings), from);
    count += 1;
  }
  assert.ok(count > 50, `only ${count} were recorded`);
});

test("a withdrawn manifest has its time and no services", () => {
  const [workload] = fc.sample(anyWorkload, { numRuns: 1, seed: 1 }) as [LeaseWorkload];
  const note = { version: "00ff", receivedAtMs, withdrawnAtMs: receivedAtMs + 1 };
  const { object } = manifestResource(workload, note, inCluster);
  const group = { name: workload.group.name, services: [] };
  assert.deepEqual(readManifestResource(object), { lease: workload.lease, group, ...note });
});

test("missing fields have defaults, and a resource without a lease is ignored", () => {
  const { object } = manifestResource(
    { lease: sampleLease, group: { name: "web", services: [] }, offer: [] },
    { version: "", receivedAtMs },
    inCluster,
  );
  const named = (spec: unknown): KubeObject => ({ ...object, spec });
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const spec of [value, { group: value }, { group: { services: [value] } }, { group: { services: value } }]) {
        assert.deepEqual(readManifestResource(named(spec))?.lease, sampleLease);
      }
      const strange = { metadata: { name: "strange" }, spec: value };
      assert.equal(readManifestResource(strange), undefined);
    }),
    { numRuns: runs(100, 1_000) },
  );
});

function asSent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
