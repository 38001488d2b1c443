/** What an object must be like to be stored, and what of it can never change. */
import { fieldsOf, recordsOf } from "../../../../kube/json-fields.ts";
import { resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { equal } from "../fields/equal.ts";
import { checkBuiltIn } from "../rules/built-in-rules.ts";
import { nano } from "../rules/container-rules.ts";
import { createFound, type Found } from "../rules/found.ts";
import { checkFinalizers, checkMetadata, checkName } from "../rules/metadata-rules.ts";
import { customFaults } from "../schema/custom-faults.ts";
import type { Served } from "../served-kinds.ts";
import { invalid } from "./rejections.ts";

export function validateNew(served: Served, object: KubeObject): void {
  const found = createFound();
  checkName(served.kind, object, found);
  checkContent(served, object, found);
  throwIfInvalid(served, object, found);
}

export function validateChange(served: Served, live: KubeObject, next: KubeObject): void {
  const found = createFound();
  checkFinalizers(live, next, found);
  // Custom resources are few, and the status is in their schema.
  if (!served.schema && hasSameContent(live, next)) checkMetadata(next, served.isCustom, found);
  else {
    const resource = resourceOf(served.kind);
    for (const path of unchanging[resource] ?? []) {
      if (!sameAt(live, next, path)) found.say("Invalid", path, valueAt(next, path), "field is immutable");
    }
    changes[resource]?.(live, next, found);
    checkContent(served, next, found);
  }
  throwIfInvalid(served, next, found);
}

/** The very same, as where only the status is written. */
function hasSameContent(live: KubeObject, next: KubeObject): boolean {
  for (const name in next) {
    if (name !== "metadata" && name !== "status" && next[name] !== live[name]) return false;
  }
  return true;
}

function checkContent({ shape, schema, isCustom }: Served, object: KubeObject, found: Found): void {
  checkMetadata(object, isCustom, found);
  if (schema) {
    const { metadata: _, ...rest } = object;
    found.faults.push(...customFaults(rest, schema, ""));
  } else if (shape.is === "struct") checkBuiltIn(object, shape, found);
}

function throwIfInvalid({ kind }: Served, { metadata }: KubeObject, { faults }: Found): void {
  if (faults.length > 0) throw invalid(kind, metadata.name, faults);
}

/** Fields that stay as they were made. */
const unchanging: Readonly<Record<string, readonly string[]>> = {
  "deployments.apps": ["spec.selector"],
  secrets: ["type"],
  "storageclasses.storage.k8s.io": ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"],
  "rolebindings.rbac.authorization.k8s.io": ["roleRef"],
};

type Change = (live: KubeObject, next: KubeObject, found: Found) => void;

/** One that says so stays as it is, and says so for ever. */
const immutableData: Change = (live, next, found) => {
  if (live["immutable"] !== true) return;
  for (const field of ["immutable", "data", "binaryData"]) {
    found.when(!sameAt(live, next, field), "Forbidden", field);
  }
};

const changes: Readonly<Record<string, Change>> = {
  configmaps: immutableData,
  secrets: immutableData,
  "statefulsets.apps": (live, next, found) =>
    checkSpec(live, next, found, [
      "replicas",
      "ordinals",
      "template",
      "updateStrategy",
      "revisionHistoryLimit",
      "persistentVolumeClaimRetentionPolicy",
      "minReadySeconds",
    ]),
  pods: (live, next, found) => checkSpec(withoutImages(live), withoutImages(next), found, podExceptions(live)),
  persistentvolumeclaims(live, next, found) {
    const isBound = fieldsOf(live["status"])["phase"] === "Bound";
    const mayGrow = isBound ? ["resources", "volumeAttributesClassName"] : [];
    checkSpec(live, next, found, [...mayGrow, ...unset(live, "volumeName"), ...unset(live, "storageClassName")]);
    const [before, after] = [live, next].map((claim) => valueAt(claim, "spec.resources.requests.storage"));
    const isLess = isBound && after !== undefined && nano(after) < nano(before ?? "0");
    found.when(isLess, "Forbidden", "spec.resources.requests.storage");
  },
  services(live, next, found) {
    const isFixed = unset(live, "clusterIP").length === 0 && fieldsOf(next["spec"])["type"] !== "ExternalName";
    found.when(isFixed && !sameAt(live, next, "spec.clusterIP"), "Invalid", "spec.clusterIPs[0]");
  },
};

/** The scheduler's choice is made once; the others are the few that may change on a running pod. */
function podExceptions(live: KubeObject): string[] {
  return ["activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", ...unset(live, "nodeName")];
}

function checkSpec(live: KubeObject, next: KubeObject, found: Found, mayChange: readonly string[]): void {
  const [before, after] = [live, next].map((object) => {
    const entries = Object.entries(fieldsOf(object["spec"])).filter(([name]) => !mayChange.includes(name));
    return Object.fromEntries(entries);
  });
  if (!equal(before, after))
    found.say("Forbidden", "spec", undefined, `only these may change: ${mayChange.join(", ")}`);
}

function withoutImages(pod: KubeObject): KubeObject {
  const spec = fieldsOf(pod["spec"]);
  const lists = ["containers", "initContainers"].map((name) => {
    const containers = recordsOf(spec[name]);
    return [name, containers.map(({ image: _, ...container }) => container)];
  });
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
}

/** The field, where it has no value yet. */
function unset(object: KubeObject, name: string): string[] {
  return fieldsOf(object["spec"])[name] ? [] : [name];
}

function sameAt(a: KubeObject, b: KubeObject, path: string): boolean {
  return equal(valueAt(a, path), valueAt(b, path));
}

function valueAt(object: KubeObject, path: string): unknown {
  return path.split(".").reduce<unknown>((at, name) => fieldsOf(at)[name], object);
}
