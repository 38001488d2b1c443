import { account, endpoint, hostname, kubernetesName, port, url } from "../addresses.ts";
import { duration, onOff, path, text, whole } from "../plain.ts";
import { dead, type Group, operators, optional, type Program, setting } from "../setting.ts";

const lists: readonly Program[] = ["hostname", "ip"];
const inventory: readonly Program[] = ["inventory"];
const ip: readonly Program[] = ["ip"];

export const operatorsGroup = {
  title: "Operators",
  about: "The processes beside the provider: inventory, hostname and IP.",
  settings: {
    restPort: setting({
      flag: "rest-port",
      kind: port,
      default: "8080",
      usedBy: operators,
      doc: "Port of an operator's HTTP interface.",
    }),
    restAddress: setting({
      flag: "rest-address",
      kind: hostname,
      default: "0.0.0.0",
      usedBy: operators,
      doc: "Address on which an operator listens.",
    }),
    grpcPort: setting({
      flag: "grpc-port",
      kind: port,
      default: "8081",
      usedBy: operators,
      doc: "Port of an operator's gRPC interface.",
    }),
    podName: optional({
      flag: "pod-name",
      kind: kubernetesName,
      usedBy: operators,
      doc: "The operator's own pod, whose ports and image hold where the settings give none.",
    }),
    podNamespace: setting({
      flag: "pod-namespace",
      kind: kubernetesName,
      default: "akash-services",
      usedBy: operators,
      doc: "The namespace of that pod.",
    }),
    pruneIntervalMs: setting({
      flag: "prune-interval",
      kind: duration({ zero: "refused" }),
      default: "10m",
      usedBy: lists,
      doc: "How often the list of ignored leases is tidied up.",
    }),
    webRefreshIntervalMs: setting({
      flag: "web-refresh-interval",
      kind: duration({ zero: "refused" }),
      default: "5s",
      usedBy: lists,
      doc: "How old the answers of an operator's HTTP interface may be.",
    }),
    retryDelayMs: setting({
      flag: "retry-delay",
      kind: duration(),
      default: "3s",
      usedBy: lists,
      doc: "Pause before an operator watches the cluster again after an error.",
    }),
    ignoreListEntryLimit: setting({
      flag: "ignore-list-entry-limit",
      // Ten times the default; each entry holds a lease and its last error in memory.
      kind: whole(1, 1_310_720),
      default: "131072",
      usedBy: lists,
      doc: "How many leases the list of ignored ones may hold.",
    }),
    ignoreListAgeLimitMs: setting({
      flag: "ignore-list-age-limit",
      kind: duration({ zero: "refused" }),
      default: "726h",
      usedBy: lists,
      doc: "How long a lease stays ignored at most once that list is full.",
    }),
    eventFailureLimit: setting({
      flag: "event-failure-limit",
      kind: whole(1, 1_000_000),
      default: "3",
      usedBy: lists,
      doc: "How many failures put a lease on that list.",
    }),
    operatorProvider: optional({
      flag: "provider",
      kind: account,
      usedBy: ip,
      doc: "The provider's address, which the IP operator needs.",
    }),
    metalLbEndpoint: optional({
      flag: "metal-lb-endpoint",
      kind: endpoint,
      usedBy: ip,
      doc: "Where MetalLB's metrics are; without it they are looked for in the cluster.",
    }),
    metalLbPool: setting({
      flag: "metal-lb-pool",
      kind: kubernetesName,
      default: "default",
      usedBy: ip,
      doc: "MetalLB's pool of addresses to lease.",
    }),
    inventoryConfig: optional({
      flag: "config",
      kind: text("a path that ends in yaml, or YAML itself"),
      usedBy: inventory,
      doc: "Which storage classes and nodes the inventory has: a YAML file, or YAML itself.",
    }),
    apiTimeoutMs: setting({
      flag: "api-timeout",
      kind: duration({ zero: "refused" }),
      default: "3s",
      usedBy: inventory,
      doc: "How long a request to the inventory operator may take.",
    }),
    registryQueryPeriodMs: setting({
      flag: "registry-query-period",
      kind: duration({ zero: "refused" }),
      default: "5m",
      usedBy: inventory,
      doc: "How often the list of known GPUs is fetched.",
    }),
    providerConfigsUrl: optional({
      flag: "provider-configs-url",
      kind: url(["https", "http"], "https://provider-configs.akash.network"),
      usedBy: inventory,
      doc: "Where a list of known GPUs is fetched from, beside the one that is built in.",
    }),
    discoveryImage: setting({
      flag: "discovery-image",
      kind: text("an image like ghcr.io/akash-network/provider", /^\S+$/, "<image>"),
      default: "ghcr.io/akash-network/provider",
      usedBy: inventory,
      doc: "Image of the pod that looks at a node's hardware; in a pod, the pod's own.",
    }),
    discoveryNamespace: setting({
      flag: "discovery-namespace",
      kind: kubernetesName,
      default: "akash-discovery",
      usedBy: inventory,
      doc: "The namespace of the pods that look at nodes' hardware; nothing else should be in it.",
    }),
    discoveryPrivileged: setting({
      flag: "discovery-privileged",
      kind: onOff,
      default: "true",
      usedBy: inventory,
      doc: "Whether those pods are privileged; without, they run as nobody, and see the same unless a driver hides it.",
    }),
    discoveryApiPort: setting({
      flag: "api-port",
      kind: port,
      default: "8081",
      usedBy: ["discovery"],
      doc: "Port on which the pod that looks at a node's hardware answers.",
    }),
    discoveryRoot: setting({
      flag: "root",
      kind: path,
      default: "/",
      usedBy: ["discovery"],
      doc: "Where it finds the node's own /proc and /sys.",
    }),
    queryTimeout: dead({
      flag: "query-timeout",
      usedBy: inventory,
      why: "no part of the inventory operator has ever read it",
    }),
    providerPcidbUrl: dead({
      flag: "provider-pcidb-url",
      usedBy: inventory,
      why: "the list of PCI devices was fetched but never used",
    }),
  },
} as const satisfies Group;
