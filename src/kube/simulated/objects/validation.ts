/** What an object must be like to be stored, and what of it can never change: what our own objects could get wrong. */
import { fieldsOf, listOf } from "../../json-fields.ts";
import { type Kind, kinds, resourceOf } from "../../kinds.ts";
import type { KubeObject } from "../../kube.ts";
import { equal } from "../fields/equal.ts";
import type { Plain } from "../schema/shape.ts";
import type { Served } from "../served-kinds.ts";
import { isLabelName, isLabelValue, nameFault } from "./names.ts";
import { type Fault, immutable, invalid } from "./refusals.ts";

export function validateNew(served: Served, object: KubeObject): void {
  refuse(served, object, [...nameFaults(served, object), ...labelFaults(object), ...workloadFaults(served, object)]);
}

export function validateChange(served: Served, live: KubeObject, next: KubeObject): void {
  const changed = (unchanging[resourceOf(served.kind)] ?? []).filter((path) => !sameAt(live, next, path));
  const custom = changes[resourceOf(served.kind)]?.(live, next) ?? [];
  refuse(served, next, [
    ...changed.map(immutable),
    ...custom,
    ...finalizerFaults(live, next),
    ...labelFaults(next),
    ...workloadFaults(served, next),
  ]);
}

function refuse({ kind }: Served, { metadata }: KubeObject, faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalid(kind, metadata.name, faults);
}

function nameFaults({ kind }: Served, object: KubeObject): Fault[] {
  const { metadata } = object;
  const fault = nameFault(kind, metadata.name) ?? definitionNameFault(kind, object);
  return fault === undefined ? [] : [wrong("metadata.name", `Invalid value: "${metadata.name}": ${fault}`)];
}

/** A definition is found by what it defines. */
function definitionNameFault(kind: Kind, object: KubeObject): string | undefined {
  if (kind !== kinds.customResourceDefinition) return undefined;
  const { group, names } = fieldsOf(object["spec"]);
  const isRight = object.metadata.name === `${fieldsOf(names)["plural"]}.${group}`;
  return isRight ? undefined : 'must be spec.names.plural+"."+spec.group';
}

function labelFaults({ metadata }: KubeObject): Fault[] {
  return Object.entries(metadata.labels ?? {})
    .filter(([name, value]) => !isLabelName(name) || !isLabelValue(value))
    .map(([name, value]) => wrong("metadata.labels", `Invalid value: "${name}: ${value}": not a label`));
}

/** An object on its way out gets no new tasks to be done before it. */
function finalizerFaults(live: KubeObject, next: KubeObject): Fault[] {
  if (live.metadata.deletionTimestamp === undefined) return [];
  const added = (next.metadata.finalizers ?? []).filter((name) => !live.metadata.finalizers?.includes(name));
  if (added.length === 0) return [];
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  return [{ field: "metadata.finalizers", reason: "FieldValueForbidden", message }];
}

const withTemplates = new Set(["deployments.apps", "statefulsets.apps", "replicasets.apps", "daemonsets.apps"]);

function workloadFaults({ kind }: Served, object: KubeObject): Fault[] {
  const resource = resourceOf(kind);
  const spec = fieldsOf(object["spec"]);
  if (resource === "pods") return podFaults(spec, "spec");
  if (!withTemplates.has(resource)) return [];
  const template = fieldsOf(spec["template"]);
  return [
    ...selectorFaults(spec, template),
    ...strategyFaults(fieldsOf(spec["strategy"])),
    ...podFaults(fieldsOf(template["spec"]), "spec.template.spec"),
  ];
}

function strategyFaults({ type, rollingUpdate }: Plain): Fault[] {
  if (type !== "Recreate" || rollingUpdate === undefined) return [];
  const message = "Forbidden: may not be specified when strategy `type` is 'Recreate'";
  return [{ field: "spec.strategy.rollingUpdate", reason: "FieldValueForbidden", message }];
}

function selectorFaults(spec: Plain, template: Plain): Fault[] {
  const selector = fieldsOf(spec["selector"]);
  const wanted = Object.entries(fieldsOf(selector["matchLabels"]));
  if (wanted.length === 0 && !selector["matchExpressions"]) return [required("spec.selector", "")];
  const labels = fieldsOf(fieldsOf(template["metadata"])["labels"]);
  if (wanted.every(([name, value]) => labels[name] === value)) return [];
  const message = `Invalid value: ${JSON.stringify(labels)}: \`selector\` does not match template \`labels\``;
  return [wrong("spec.template.metadata.labels", message)];
}

function podFaults(spec: Plain, field: string): Fault[] {
  const containers = listOf(spec["containers"]).map(fieldsOf);
  if (containers.length === 0) return [required(`${field}.containers`, "")];
  const lacking = containers.flatMap((container, at) =>
    ["name", "image"]
      .filter((name) => !container[name])
      .map((name) => required(`${field}.containers[${at}].${name}`, "")),
  );
  return lacking;
}

/** Fields that stay as they were made. */
const unchanging: Readonly<Record<string, readonly string[]>> = {
  "deployments.apps": ["spec.selector"],
  "replicasets.apps": ["spec.selector"],
  "daemonsets.apps": ["spec.selector"],
  secrets: ["type"],
  "storageclasses.storage.k8s.io": ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"],
  "rolebindings.rbac.authorization.k8s.io": ["roleRef"],
  "runtimeclasses.node.k8s.io": ["handler"],
  "ingressclasses.networking.k8s.io": ["spec.controller"],
  "endpointslices.discovery.k8s.io": ["addressType"],
};

const changes: Readonly<Record<string, (live: KubeObject, next: KubeObject) => Fault[]>> = {
  "statefulsets.apps": (live, next) =>
    specFaults(live, next, [
      "replicas",
      "ordinals",
      "template",
      "updateStrategy",
      "revisionHistoryLimit",
      "persistentVolumeClaimRetentionPolicy",
      "minReadySeconds",
    ]),
  pods: (live, next) => specFaults(withoutImages(live), withoutImages(next), podExceptions(live)),
  persistentvolumeclaims: (live, next) =>
    specFaults(live, next, ["resources", "volumeAttributesClassName", ...unset(live, "volumeName")]),
  services(live, next) {
    const fixed = unset(live, "clusterIP").length === 0 && fieldsOf(next["spec"])["type"] !== "ExternalName";
    return fixed && !sameAt(live, next, "spec.clusterIP") ? [immutable("spec.clusterIPs[0]")] : [];
  },
};

/** The scheduler's choice is made once; the others are the few that may change on a running pod. */
function podExceptions(live: KubeObject): string[] {
  return ["activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", ...unset(live, "nodeName")];
}

function specFaults(live: KubeObject, next: KubeObject, mayChange: readonly string[]): Fault[] {
  const [before, after] = [live, next].map((object) => {
    const entries = Object.entries(fieldsOf(object["spec"])).filter(([name]) => !mayChange.includes(name));
    return Object.fromEntries(entries);
  });
  if (equal(before, after)) return [];
  const list = mayChange.map((name) => `'${name}'`).join(", ");
  const message = `Forbidden: updates to the spec for fields other than ${list} are forbidden`;
  return [{ field: "spec", reason: "FieldValueForbidden", message }];
}

function withoutImages(pod: KubeObject): KubeObject {
  const spec = fieldsOf(pod["spec"]);
  const lists = ["containers", "initContainers"].map((name) => {
    const containers = listOf(spec[name]).map(fieldsOf);
    return [name, containers.map(({ image: _, ...container }) => container)];
  });
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
}

/** The field, where it has no value yet. */
function unset(object: KubeObject, name: string): string[] {
  return fieldsOf(object["spec"])[name] ? [] : [name];
}

function sameAt(a: KubeObject, b: KubeObject, path: string): boolean {
  const [before, after] = [a, b].map((object) =>
    path.split(".").reduce<unknown>((at, name) => fieldsOf(at)[name], object),
  );
  return equal(before, after);
}

function wrong(field: string, message: string): Fault {
  return { field, reason: "FieldValueInvalid", message };
}

function required(field: string, why: string): Fault {
  return { field, reason: "FieldValueRequired", message: `Required value${why && `: ${why}`}` };
}
