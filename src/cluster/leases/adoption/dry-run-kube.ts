/** A Kubernetes client that only reads: writes are noted, and reads return objects as if they had been made. */
import { asSent, isAsDesired } from "../../../kube/as-desired.ts";
import { fieldsOf, stepsOf } from "../../../kube/json-fields.ts";
import { type Kind, objectText } from "../../../kube/kinds.ts";
import type { Kube, KubeObject, ObjectAt, PatchOperation } from "../../../kube/kube.ts";
import { isAppliedBy, ownedFields } from "../../../kube/owned-fields.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { shortList } from "../lease-states.ts";

export interface DryRunWrite {
  readonly does: "make" | "change" | "remove";
  readonly kind: Kind;
  readonly at: ObjectAt;
  /** Of a change: what of it. */
  readonly fields: readonly string[];
}

export function createDryRunKube(
  kube: Pick<Kube, "get" | "watch" | "list" | "fieldManager">,
  note: (write: DryRunWrite) => void,
) {
  const { fieldManager } = kube;
  const patched = new Map<string, KubeObject>();
  const shown = (kind: Kind, at: ObjectAt) => patched.get(objectText(kind, at));

  const get: Kube["get"] = async (kind, at, options) => shown(kind, at) ?? kube.get(kind, at, options);

  const dryRun: Pick<Kube, "get" | "watch" | "list" | "fieldManager" | "apply" | "patch" | "delete"> = {
    fieldManager,
    watch: (options) => kube.watch(options),
    list: (kind, options) => kube.list(kind, options),
    get,
    async apply(kind, given, { live, dryRun = false, signal } = {}) {
      const desired = asSent(kind, given);
      const { name, namespace } = desired.metadata;
      const at = { name, namespace };
      const isKnown = live && !shown(kind, at) && isAsDesired(kind, desired, live);
      const object = isKnown ? undefined : await get(kind, at, { signal });
      const isSo = isKnown || (object && isAsDesired(kind, desired, ownedFields(object, fieldManager)));
      if (!isSo && !dryRun) {
        const fields = object ? changedFields(desired, object, fieldManager) : [];
        note({ does: object ? "change" : "make", kind, at, fields });
      }
      return { written: !isSo, object: undefined, warnings: [] };
    },
    /** Those of owners and labels change nothing by themselves; the apply that follows notes what goes with them. */
    async patch(kind, at, operations, { signal } = {}) {
      const object = await get(kind, at, { signal });
      const next = operations.reduce<unknown>(patchedBy, object ?? {}) as KubeObject;
      patched.set(objectText(kind, at), next);
      const fields = operations.flatMap(({ op, path }) => (op === "test" || isOwners(path) ? [] : [pathText(path)]));
      if (fields.length > 0) note({ does: "change", kind, at, fields });
      return next;
    },
    async delete(kind, { name, namespace }) {
      note({ does: "remove", kind, at: { name, namespace }, fields: [] });
      return true;
    },
  };
  return { kube: dryRun, shown };
}

function isOwners(path: string): boolean {
  return path === "/metadata/managedFields";
}

function pathText(path: string): string {
  return stepsOf(path).join(".");
}

function patchedBy(object: unknown, operation: PatchOperation): unknown {
  if (operation.op === "test") return object;
  return withField(object, stepsOf(operation.path), operation.op === "remove" ? undefined : operation.value);
}

function withField(object: unknown, [step = "", ...rest]: readonly string[], value: unknown): unknown {
  const { [step]: there, ...others } = isRecord(object) ? object : {};
  const next = rest.length > 0 ? withField(there, rest, value) : value;
  return next === undefined ? others : { ...others, [step]: next };
}

/** What an apply would change of an object, in short: names of fields, never what is in them. */
function changedFields(desired: KubeObject, live: KubeObject, fieldManager: string): readonly string[] {
  const { metadata, apiVersion: _, kind: __, ...rest } = desired;
  const { labels, annotations } = metadata;
  const wanted = { ...rest, metadata: { labels, annotations } };
  return shortList([...differing(wanted, live, ""), ...removed(wanted.metadata, live, fieldManager)]);
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

/** Labels and annotations that were the Go provider's, and that we do not want. */
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
