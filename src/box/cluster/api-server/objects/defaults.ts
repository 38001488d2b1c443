/** What the API server puts into objects that do not say. */
import type { KubeObject } from "../../../../kube/kube.ts";
import { elements, fill, type Mutable, mutable, part, partIfThere } from "./mutable.ts";
import { fillPod, fillPodSpec } from "./pod-defaults.ts";

/** Fills in what is missing, in place. */
export function fillDefaults(object: KubeObject): void {
  byKind[`${object.apiVersion} ${object.kind}`]?.(mutable(object));
}

type Fill = (object: Mutable) => void;

const rbac = "rbac.authorization.k8s.io";

const byKind: Readonly<Record<string, Fill>> = {
  "v1 Namespace"(namespace) {
    const metadata = part(namespace, "metadata");
    fill(part(metadata, "labels"), { "kubernetes.io/metadata.name": metadata["name"] });
    fill(part(namespace, "status"), { phase: "Active" });
  },
  "v1 Pod"(pod) {
    fillPodSpec(part(pod, "spec"));
    fillPod(pod);
  },
  "v1 Node"(node) {
    const status = part(node, "status");
    fill(status, status["capacity"] ? { allocatable: status["capacity"] } : {});
  },
  "v1 Secret"(secret) {
    fill(secret, { type: "Opaque" });
    const texts = Object.entries(partIfThere(secret, "stringData") ?? {});
    if (texts.length > 0) {
      Object.assign(part(secret, "data"), Object.fromEntries(texts.map(([name, text]) => [name, base64(text)])));
    }
    delete secret["stringData"];
  },
  "v1 Service": fillService,
  "v1 Endpoints"(endpoints) {
    for (const subset of elements(endpoints, "subsets")) {
      for (const port of elements(subset, "ports")) fill(port, { protocol: "TCP" });
    }
  },
  "v1 PersistentVolume"(volume) {
    const spec = part(volume, "spec");
    fill(spec, { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" });
    fill(partIfThere(spec, "hostPath"), { type: "" });
    fill(part(volume, "status"), { phase: "Pending" });
  },
  "v1 PersistentVolumeClaim": fillClaim,
  "apps/v1 Deployment"(deployment) {
    const spec = part(deployment, "spec");
    fillTemplate(spec);
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
    const strategy = part(spec, "strategy");
    fill(strategy, { type: "RollingUpdate" });
    if (strategy["type"] !== "RollingUpdate") return;
    fill(part(strategy, "rollingUpdate"), { maxUnavailable: "25%", maxSurge: "25%" });
  },
  "apps/v1 StatefulSet"(set) {
    const spec = part(set, "spec");
    fillTemplate(spec);
    fill(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady" });
    fill(part(spec, "persistentVolumeClaimRetentionPolicy"), { whenDeleted: "Retain", whenScaled: "Retain" });
    const strategy = part(spec, "updateStrategy");
    fill(strategy, { type: "RollingUpdate" });
    if (strategy["type"] === "RollingUpdate") fill(part(strategy, "rollingUpdate"), { partition: 0 });
    for (const claim of elements(spec, "volumeClaimTemplates")) {
      fill(claim, { kind: "PersistentVolumeClaim", apiVersion: "v1" });
      fillClaim(claim);
    }
  },
  "networking.k8s.io/v1 NetworkPolicy"(policy) {
    const spec = part(policy, "spec");
    const egress = elements(spec, "egress").length > 0 ? ["Egress"] : [];
    fill(spec, { policyTypes: ["Ingress", ...egress] });
    for (const rule of [...elements(spec, "ingress"), ...elements(spec, "egress")]) {
      for (const port of elements(rule, "ports")) fill(port, { protocol: "TCP" });
    }
  },
  "discovery.k8s.io/v1 EndpointSlice"(slice) {
    for (const port of elements(slice, "ports")) fill(port, { name: "", protocol: "TCP" });
  },
  "storage.k8s.io/v1 StorageClass": (storage) =>
    fill(storage, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  [`${rbac}/v1 RoleBinding`](binding) {
    fill(part(binding, "roleRef"), { apiGroup: rbac });
    for (const subject of elements(binding, "subjects")) {
      if (subject["kind"] !== "ServiceAccount") fill(subject, { apiGroup: rbac });
    }
  },
};

function fillTemplate(spec: Mutable): void {
  fillPodSpec(part(part(spec, "template"), "spec"));
}

function fillClaim(claim: Mutable): void {
  fill(part(claim, "spec"), { volumeMode: "Filesystem" });
  fill(part(claim, "status"), { phase: "Pending" });
}

function fillService(service: Mutable): void {
  const spec = part(service, "spec");
  fill(spec, { type: "ClusterIP", sessionAffinity: "None" });
  for (const port of elements(spec, "ports")) {
    // Go's zero value stands for "not given" here.
    if (port["targetPort"] === 0 || port["targetPort"] === "") port["targetPort"] = port["port"];
  }
  if (spec["type"] === "ExternalName") return;
  fill(spec, { internalTrafficPolicy: "Cluster" });
  if (spec["type"] !== "ClusterIP") fill(spec, { externalTrafficPolicy: "Cluster" });
  if (spec["type"] === "LoadBalancer") fill(spec, { allocateLoadBalancerNodePorts: true });
}

function base64(text: unknown): string {
  return Buffer.from(String(text)).toString("base64");
}
