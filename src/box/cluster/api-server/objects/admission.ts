/** Fields without an owner that the API server sets in new objects: addresses of services, tolerations of pods and so on. */
import { fieldsOf } from "../../../../kube/json-fields.ts";
import { kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { equal } from "../fields/equal.ts";
import { nano } from "../rules/container-rules.ts";
import { firstNodePort, lastNodePort } from "../rules/network-rules.ts";
import { type Served, type ServedKinds, servedOf } from "../served-kinds.ts";
import type { Store } from "../store.ts";
import { elements, fill, type Mutable, mutable, part, partIfThere } from "./mutable.ts";
import { podSecurityViolation } from "./pod-security.ts";
import { fault, forbidden, invalid, notFound } from "./rejections.ts";

export interface AdmissionDeps {
  readonly store: Store;
  readonly served: ServedKinds;
}

/** New objects need a namespace, and one that stays. */
export function admitInto({ store, served }: AdmissionDeps, { kind }: Served, { metadata }: KubeObject): void {
  const { namespace, name } = metadata;
  if (!kind.namespaced || namespace === undefined) return;
  const found = store.get(servedOf(served, kinds.namespace), { name: namespace });
  if (!found) throw notFound(kinds.namespace, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const reason = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(kind, name, reason, {
    causes: [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }],
  });
}

/** A definition that is to go would wait for ever if there were always more of what it defines. */
export function admitByDefinition({ store, served }: AdmissionDeps, { kind, isCustom }: Served, name: string): void {
  const definitions = servedOf(served, kinds.customResourceDefinition);
  const definition = isCustom ? store.get(definitions, { name: resourceOf(kind) }) : undefined;
  if (definition?.metadata.deletionTimestamp === undefined) return;
  throw forbidden(kind, name, "create not allowed while custom resource definition is terminating");
}

/** In place, on an object that was just made. */
export function completeNew(deps: AdmissionDeps, { kind }: Served, object: KubeObject): void {
  const resource = resourceOf(kind);
  if (resource === "namespaces") fill(part(mutable(object), "spec"), { finalizers: ["kubernetes"] });
  if (resource === "pods") {
    admitClasses(deps, object);
    admitSecurity(deps, object);
    completePod(mutable(object));
  }
  if (resource === "services") completeService(deps, mutable(object), undefined);
}

/** Addresses stay with a service; a new type may need more of them. */
export function completeChanged(deps: AdmissionDeps, { kind }: Served, live: KubeObject, next: KubeObject): void {
  if (next["spec"] === live["spec"]) return;
  if (kind === kinds.service) completeService(deps, mutable(next), mutable(live));
  if (kind === kinds.persistentVolumeClaim) admitGrowth(deps, live, next);
}

/** A claim that has its volume gets more only where its class can do that. */
function admitGrowth({ store, served }: AdmissionDeps, live: KubeObject, next: KubeObject): void {
  const [before, after] = [live, next].map((claim) => sizeOf(claim));
  if (fieldsOf(live["status"])["phase"] !== "Bound" || !before || !after || nano(after) <= nano(before)) return;
  const name = String(fieldsOf(live["spec"])["storageClassName"]);
  if (store.get(servedOf(served, kinds.storageClass), { name })?.["allowVolumeExpansion"] === true) return;
  const reason =
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
  throw forbidden(kinds.persistentVolumeClaim, live.metadata.name, reason);
}

function sizeOf(claim: KubeObject): unknown {
  return fieldsOf(fieldsOf(fieldsOf(claim["spec"])["resources"])["requests"])["storage"];
}

/** Only the built-in priority classes: others cannot be created. */
const priorityClasses = new Set(["", "system-node-critical", "system-cluster-critical"]);

function admitClasses({ store, served }: AdmissionDeps, pod: KubeObject): void {
  const { runtimeClassName, priorityClassName = "" } = partIfThere(mutable(pod), "spec") ?? {};
  if (!priorityClasses.has(String(priorityClassName))) {
    throw forbidden(kinds.pod, pod.metadata.name, `no PriorityClass with name ${priorityClassName} was found`);
  }
  const known = servedOf(served, kinds.runtimeClass);
  if (runtimeClassName === undefined || store.get(known, { name: String(runtimeClassName) })) return;
  throw forbidden(kinds.pod, pod.metadata.name, `pod rejected: RuntimeClass "${runtimeClassName}" not found`);
}

function admitSecurity({ store, served }: AdmissionDeps, { metadata, spec }: KubeObject): void {
  const { name, namespace = "" } = metadata;
  const home = store.get(servedOf(served, kinds.namespace), { name: namespace });
  const violation = podSecurityViolation(home, spec);
  if (violation !== undefined) throw forbidden(kinds.pod, name, `violates ${violation}`);
}

/** How long a pod stays on a node that is lost, where it does not say. */
const defaultTolerationSeconds = 300;

function completePod(pod: Mutable): void {
  const spec = part(pod, "spec");
  fill(spec, { priority: 0, preemptionPolicy: "PreemptLowerPriority", serviceAccountName: "default" });
  fill(spec, { serviceAccount: spec["serviceAccountName"] });
  const tolerations = elements(spec, "tolerations");
  for (const key of ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]) {
    const tolerated = tolerations.some(
      (each) => (!each["key"] || each["key"] === key) && (!each["effect"] || each["effect"] === "NoExecute"),
    );
    if (!tolerated) {
      tolerations.push({ effect: "NoExecute", key, operator: "Exists", tolerationSeconds: defaultTolerationSeconds });
    }
  }
  spec["tolerations"] = tolerations;
  fill(part(pod, "status"), { phase: "Pending" });
}

function completeService(deps: AdmissionDeps, service: Mutable, live: Mutable | undefined): void {
  const spec = part(service, "spec");
  const before = partIfThere(live, "spec");
  const type = spec["type"];
  if (before && before["type"] !== type) dropFieldsOfOldType(spec, before);
  if (type === "ExternalName") return;
  if (before && before["type"] !== "ExternalName") {
    fill(spec, { clusterIP: before["clusterIP"], clusterIPs: before["clusterIPs"] });
  }
  const address = spec["clusterIP"] ?? freeAddress(deps);
  fill(spec, { clusterIP: address, clusterIPs: [address], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" });
  if (type === "ClusterIP" || spec["allocateLoadBalancerNodePorts"] === false) return;
  completeNodePorts(deps, service, before);
}

function completeNodePorts(deps: AdmissionDeps, service: Mutable, before: Mutable | undefined): void {
  const taken = takenNodePorts(deps, service);
  const ports = elements(part(service, "spec"), "ports");
  const given = new Set<string>();
  ports.forEach((port, at) => {
    const { port: number, protocol } = port;
    port["nodePort"] ??= elements(before, "ports").find(
      (each) => each["port"] === number && each["protocol"] === protocol,
    )?.["nodePort"];
    const { nodePort } = port;
    if (nodePort === undefined) return;
    const text = `${nodePort}/${protocol}`;
    if (taken.has(nodePort) || given.has(text)) {
      const wrong = fault("Invalid", `spec.ports[${at}].nodePort`, nodePort, "provided port is already allocated");
      throw invalid(kinds.service, String(partIfThere(service, "metadata")?.["name"]), [wrong]);
    }
    given.add(text);
  });
  for (const { nodePort } of ports) if (nodePort !== undefined) taken.add(nodePort);
  for (const port of ports) {
    // In a new Service both protocols of a port share one of the nodes'.
    const shared = before ? undefined : ports.find((each) => each["port"] === port["port"])?.["nodePort"];
    port["nodePort"] ??= shared ?? freeNodePort(taken);
    taken.add(port["nodePort"]);
  }
}

/** What the new type has no use for goes, unless it was given anew. */
function dropFieldsOfOldType(spec: Mutable, before: Mutable): void {
  const drop = (name: string) => {
    if (equal(spec[name], before[name])) delete spec[name];
  };
  const type = spec["type"];
  if (type !== "LoadBalancer") drop("allocateLoadBalancerNodePorts");
  if (type !== "ClusterIP" && type !== "ExternalName") return;
  drop("externalTrafficPolicy");
  const old = new Set(elements(before, "ports").map((port) => port["nodePort"]));
  for (const port of elements(spec, "ports")) if (old.has(port["nodePort"])) delete port["nodePort"];
}

/** 10.96.0.0/16, where the first ones are left to the cluster itself. */
function freeAddress({ store, served }: AdmissionDeps): string {
  const services = store.list(servedOf(served, kinds.service));
  const taken = new Set(services.map((service) => partIfThere(mutable(service), "spec")?.["clusterIP"]));
  for (let index = 11; index < 2 ** 16; index += 1) {
    const address = `10.96.${index >> 8}.${index & 255}`;
    if (!taken.has(address)) return address;
  }
  throw forbidden(kinds.service, "", "no more addresses are left");
}

/** By other services. */
function takenNodePorts({ store, served }: AdmissionDeps, service: Mutable): Set<unknown> {
  const { uid } = partIfThere(service, "metadata") ?? {};
  const others = store.list(servedOf(served, kinds.service)).filter(({ metadata }) => metadata.uid !== uid);
  const ports = others.flatMap((each) => elements(partIfThere(mutable(each), "spec"), "ports"));
  return new Set(ports.flatMap(({ nodePort }) => nodePort ?? []));
}

function freeNodePort(taken: ReadonlySet<unknown>): number {
  for (let port = firstNodePort; port <= lastNodePort; port += 1) if (!taken.has(port)) return port;
  throw forbidden(kinds.service, "", "no more node ports are left");
}
