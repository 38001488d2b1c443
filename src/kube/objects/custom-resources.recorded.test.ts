import assert from "node:assert/strict";
import { dirname } from "node:path";
import { listVectors, readJsonVector, vectorTest } from "../../../test/vectors.ts";
import type { UnitResources } from "../../market/group-spec.ts";
import type { Manifest, ManifestGroup } from "../../market/manifest.ts";
import type { KubeObject } from "../kube.ts";
import { leaseOfLabels } from "./lease-labels.ts";
import { leasedIp, readLeasedIp } from "./leased-ip.ts";
import { manifestResource } from "./manifest-resource.ts";
import { providerHost, readProviderHost } from "./provider-host.ts";
import { readManifestResource } from "./read-manifest-resource.ts";

const settings = { manifestNamespace: "lease" };
const note = { version: "f4", receivedAtMs: 0 };

interface RecordedLease {
  readonly path: string;
  readonly objects: readonly KubeObject[];
  readonly resource: KubeObject;
  readonly group: ManifestGroup;
}

/** Every state of a lease that was recorded together with the manifest that led to it. */
function* recordedLeases(): Generator<RecordedLease> {
  for (const path of listVectors("objects").filter((each) => /\/objects[^/]*\.json$/.test(each))) {
    const { items } = readJsonVector<{ items: KubeObject[] }>(path);
    const manifestPath = path.replace(/objects(-g\d)?([^/]*)$/, "manifest$2");
    const resource = items.find(({ kind }) => kind === "Manifest");
    if (!resource || !listVectors(dirname(path)).includes(manifestPath)) continue;
    const manifest = readJsonVector<Manifest>(manifestPath);
    const { name } = (resource["spec"] as { group: { name: string } }).group;
    const group = manifest.find((each) => each.name === name);
    assert.ok(group, path);
    yield { path, objects: items, resource, group };
  }
}

/** The card that was offered, as the recording has it. */
function offerOf({ resource, group }: RecordedLease): UnitResources[] {
  type Service = { resources: { id: number }; scheduler_params?: { resources: { gpu: Record<string, string> } } };
  const { services } = (resource["spec"] as { group: { services: Service[] } }).group;
  assert.equal(services.length, group.services.length);
  return services.flatMap(({ resources: { id }, scheduler_params }) => {
    if (!scheduler_params) return [];
    const { vendor, model } = scheduler_params.resources.gpu;
    const attributes = [{ key: `vendor/${vendor}/model/${model}`, value: "true" }];
    const nothing = { milli: 0n, bytes: 0n, attributes: [] };
    return [{ id, cpu: nothing, memory: nothing, gpu: { count: 1n, attributes }, storage: [], endpoints: [] }];
  });
}

vectorTest("a manifest becomes the resource that the network's provider made of it", () => {
  let count = 0;
  for (const recorded of recordedLeases()) {
    const lease = leaseOfLabels(recorded.resource.metadata.labels);
    assert.ok(lease);
    const built = manifestResource({ lease, group: recorded.group, offer: offerOf(recorded) }, note, settings);
    assert.deepEqual(outline(built.object), outline(recorded.resource), recorded.path);
    count += 1;
  }
  assert.ok(count > 40, `only ${count} were recorded`);
});

vectorTest("what was recorded is read, and written again as it was", () => {
  const counts = { Manifest: 0, ProviderHost: 0, ProviderLeasedIP: 0 };
  for (const recorded of recordedLeases()) {
    for (const object of recorded.objects) {
      const built = writtenAgain(object, offerOf(recorded));
      if (!built) continue;
      counts[object.kind as keyof typeof counts] += 1;
      assert.deepEqual(outline(built), outline(object), recorded.path);
    }
  }
  for (const [kind, count] of Object.entries(counts)) assert.ok(count > 10, `only ${count} of ${kind}`);
});

function writtenAgain(object: KubeObject, offer: readonly UnitResources[]): KubeObject | undefined {
  switch (object.kind) {
    case "Manifest": {
      const read = readManifestResource(object);
      assert.ok(read);
      assert.equal(read.version, "");
      assert.equal(read.receivedAtMs, Date.parse(object.metadata.creationTimestamp ?? ""));
      return manifestResource({ ...read, offer }, read, settings).object;
    }
    case "ProviderHost": {
      const read = readProviderHost(object);
      return read && providerHost(read, settings).object;
    }
    case "ProviderLeasedIP": {
      const read = readLeasedIp(object);
      return read && leasedIp(read, settings).object;
    }
    default:
      return undefined;
  }
}

/** What is compared: all but what the server adds, and what we leave out on purpose. */
function outline({ metadata, spec }: KubeObject) {
  const {
    "akash.network/manifest.resource.version": _,
    "akash.network/managed": __,
    ...labels
  } = metadata.labels ?? {};
  return { name: metadata.name, namespace: metadata.namespace, labels, spec };
}
