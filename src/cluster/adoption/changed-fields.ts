/** What an apply would change of an object, in short: names of fields, never what is in them. */
import { fieldsOf } from "../../kube/json-fields.ts";
import type { KubeObject } from "../../kube/kube.ts";
import { isAppliedBy } from "../../kube/owned-fields.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { leaseMissingTold } from "../leases/deploy.ts";

export function changedFields(desired: KubeObject, live: KubeObject, fieldManager: string): string[] {
  const { metadata, apiVersion: _, kind: __, ...rest } = desired;
  const { labels, annotations } = metadata;
  const wanted = { ...rest, metadata: { labels, annotations } };
  const all = [...differing(wanted, live, ""), ...removed(wanted.metadata, live, fieldManager)];
  const more = all.length - leaseMissingTold;
  return more > 0 ? [...all.slice(0, leaseMissingTold), `and ${more} more`] : all;
}

/** Where the server has something else; what it has besides, it filled in. */
function differing(desired: unknown, live: unknown, path: string): string[] {
  if (isRecord(desired)) {
    const below = isRecord(live) ? live : {};
    return Object.entries(desired).flatMap(([name, value]) =>
      value === undefined ? [] : differing(value, below[name], path === "" ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(desired)) {
    const list = Array.isArray(live) ? live : [];
    const isSame = list.length === desired.length && desired.every((each, at) => isIn(each, list[at]));
    return isSame ? [] : [path];
  }
  // Go's zero values are left out.
  return desired === live || (live === undefined && !desired) ? [] : [path];
}

function isIn(desired: unknown, live: unknown): boolean {
  return differing(desired, live, "").length === 0;
}

/** A namespace's own name, which the server puts back at once. */
const givenLabel = "kubernetes.io/metadata.name";

/** Labels and annotations that were the network's provider's, and that we do not want. */
function removed(wanted: KubeObject["metadata"] | object, live: KubeObject, fieldManager: string): string[] {
  const own = live.metadata.managedFields?.find((entry) => isAppliedBy(entry, fieldManager));
  const owned = fieldsOf(own?.fieldsV1?.["f:metadata"]);
  return ["labels", "annotations"].flatMap((part) => {
    const names = Object.keys(fieldsOf(owned[`f:${part}`])).filter((step) => step.startsWith("f:"));
    const kept = fieldsOf(fieldsOf(wanted)[part]);
    return names
      .map((step) => step.slice("f:".length))
      .filter((name) => kept[name] === undefined && name !== givenLabel)
      .map((name) => `metadata.${part}.${name} (removed)`);
  });
}
