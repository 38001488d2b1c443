/** The kinds of objects that we use, with their API groups. */
export interface Kind {
  /** Empty for the core kinds. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const cluster = false;

export const kinds = {
  // core
  namespace: core("Namespace", "namespaces", cluster),
  node: core("Node", "nodes", cluster),
  pod: core("Pod", "pods"),
  service: core("Service", "services"),
  endpoints: core("Endpoints", "endpoints"),
  secret: core("Secret", "secrets"),
  configMap: core("ConfigMap", "configmaps"),
  serviceAccount: core("ServiceAccount", "serviceaccounts"),
  persistentVolume: core("PersistentVolume", "persistentvolumes", cluster),
  persistentVolumeClaim: core("PersistentVolumeClaim", "persistentvolumeclaims"),

  // workloads
  deployment: kind("apps", "v1", "Deployment", "deployments"),
  statefulSet: kind("apps", "v1", "StatefulSet", "statefulsets"),
  replicaSet: kind("apps", "v1", "ReplicaSet", "replicasets"),

  // network
  ingress: kind("networking.k8s.io", "v1", "Ingress", "ingresses"),
  ingressClass: kind("networking.k8s.io", "v1", "IngressClass", "ingressclasses", cluster),
  networkPolicy: kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies"),
  endpointSlice: kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
  gateway: kind("gateway.networking.k8s.io", "v1", "Gateway", "gateways"),
  httpRoute: kind("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),

  // storage and scheduling
  storageClass: kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", cluster),
  csiNode: kind("storage.k8s.io", "v1", "CSINode", "csinodes", cluster),
  runtimeClass: kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", cluster),
  /** The lock of the one instance that may write. */
  lease: kind("coordination.k8s.io", "v1", "Lease", "leases"),

  // permissions of tenants' workloads
  role: kind("rbac.authorization.k8s.io", "v1", "Role", "roles"),
  roleBinding: kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),

  // MetalLB's, which gives Services addresses
  ipAddressPool: kind("metallb.io", "v1beta1", "IPAddressPool", "ipaddresspools"),
  l2Advertisement: kind("metallb.io", "v1beta1", "L2Advertisement", "l2advertisements"),

  event: kind("events.k8s.io", "v1", "Event", "events"),
  customResourceDefinition: kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    cluster,
  ),
  nodeMetrics: kind("metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", cluster),
  podMetrics: kind("metrics.k8s.io", "v1beta1", "PodMetrics", "pods"),

  // ours
  manifest: kind("akash.network", "v2beta2", "Manifest", "manifests"),
  providerHost: kind("akash.network", "v2beta2", "ProviderHost", "providerhosts"),
  providerLeasedIp: kind("akash.network", "v2beta2", "ProviderLeasedIP", "providerleasedips"),
} as const satisfies Record<string, Kind>;

/** "v1" or "apps/v1" */
export function apiVersionOf({ group, version }: Kind): string {
  return group === "" ? version : `${group}/${version}`;
}

/** "pods" or "deployments.apps", as in RBAC rules. */
export function resourceOf({ group, plural }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** "deployments.apps web of q9f6b2s…", for messages. */
export function objectText(kind: Kind, { namespace, name }: { namespace?: string | undefined; name: string }): string {
  return `${resourceOf(kind)} ${name}${namespace === undefined ? "" : ` of ${namespace}`}`;
}

function kind(group: string, version: string, name: string, plural: string, namespaced = true): Kind {
  return { group, version, kind: name, plural, namespaced };
}

function core(name: string, plural: string, namespaced = true): Kind {
  return kind("", "v1", name, plural, namespaced);
}
