import { account, addressRanges, endpoint, hostname, kubernetesName, port, url } from "../formats/addresses.ts";
import { duration, freeText, onOff, path, whole } from "../formats/plain.ts";
import { dead, group, operators, optionalRow, type Program, setting } from "../setting.ts";

const lists: readonly Program[] = ["hostname", "ip"];
const inventory: readonly Program[] = ["inventory"];
const ip: readonly Program[] = ["ip"];

export const operatorsGroup = group({
  title: "Operators",
  about: "The processes beside the provider: inventory, hostname and IP.",
  usedBy: operators,
  settings: {
    restPort: setting("rest-port", port, { default: "8080", doc: "Port of an operator's HTTP interface." }),
    restAddress: setting("rest-address", hostname, {
      default: "0.0.0.0",
      doc: "Address on which an operator listens.",
    }),
    grpcPort: setting("grpc-port", port, { default: "8081", doc: "Port of an operator's gRPC interface." }),
    podName: optionalRow("pod-name", kubernetesName, {
      doc: "The operator's own pod, whose ports and image hold where the settings give none.",
    }),
    podNamespace: setting("pod-namespace", kubernetesName, {
      default: "akash-services",
      usedBy: [...operators, "run"],
      doc: "The namespace of that pod. Where it is given to the provider, its certificate is kept there in a Secret, else in a file of --data-dir, and a Lease there, else in the namespace of its service account, keeps a second provider with the same key out.",
    }),
    pruneIntervalMs: setting("prune-interval", duration({ zero: "refused" }), {
      default: "10m",
      usedBy: lists,
      doc: "How often the list of ignored leases is tidied up.",
    }),
    webRefreshIntervalMs: setting("web-refresh-interval", duration({ zero: "refused" }), {
      default: "5s",
      usedBy: lists,
      doc: "How old the answers of an operator's HTTP interface may be.",
    }),
    retryDelayMs: setting("retry-delay", duration(), {
      default: "3s",
      usedBy: lists,
      doc: "Pause before an operator tries again what failed; leases on the list of ignored ones wait longer.",
    }),
    // Ten times the default; each entry holds a lease and its last error in memory.
    ignoreListEntryLimit: setting("ignore-list-entry-limit", whole(1, 1_310_720), {
      default: "131072",
      usedBy: lists,
      doc: "How many leases the list of ignored ones may hold.",
    }),
    ignoreListAgeLimitMs: setting("ignore-list-age-limit", duration({ zero: "refused" }), {
      default: "726h",
      usedBy: lists,
      doc: "How long a lease stays ignored at most once that list is full.",
    }),
    eventFailureLimit: setting("event-failure-limit", whole(1, 1_000_000), {
      default: "3",
      usedBy: lists,
      doc: "How many failures put a lease on that list.",
    }),
    operatorProvider: optionalRow("provider", account, {
      usedBy: ip,
      doc: "The provider's address, which the IP operator needs.",
    }),
    metalLbEndpoint: optionalRow("metal-lb-endpoint", endpoint, {
      usedBy: ip,
      doc: "Where MetalLB's metrics are: with it, its own counts are compared with those of the cluster.",
    }),
    metalLbPool: setting("metal-lb-pool", kubernetesName, {
      default: "default",
      usedBy: ip,
      doc: "MetalLB's pool of addresses to lease; `default` means every pool that assigns by itself.",
    }),
    ipRange: setting("ip-range", addressRanges, {
      default: "",
      usedBy: ip,
      doc: "Addresses to lease that are in no pool of MetalLB's: the IP operator makes a pool of one for each. Without, they are those of --metal-lb-pool.",
    }),
    inventoryConfig: optionalRow("config", freeText("a path that ends in yaml, or YAML itself"), {
      usedBy: inventory,
      doc: "Which storage classes and nodes the inventory has: a YAML file, or YAML itself.",
    }),
    apiTimeoutMs: setting("api-timeout", duration({ zero: "refused" }), {
      default: "3s",
      usedBy: inventory,
      doc: "How long a request to the inventory operator may take.",
    }),
    registryQueryPeriodMs: setting("registry-query-period", duration({ zero: "refused" }), {
      default: "5m",
      usedBy: inventory,
      doc: "How often the list of known GPUs is fetched.",
    }),
    providerConfigsUrl: optionalRow(
      "provider-configs-url",
      url(["https", "http"], "https://provider-configs.akash.network"),
      { usedBy: inventory, doc: "Where a list of known GPUs is fetched from, beside the one that is built in." },
    ),
    discoveryImage: setting(
      "discovery-image",
      freeText("an image like registry.invalid/akash-provider", /^\S+$/, "<image>"),
      {
        default: "registry.invalid/akash-provider",
        usedBy: inventory,
        doc: "Image of the pod that looks at a node's hardware; in a pod, the pod's own.",
      },
    ),
    discoveryNamespace: setting("discovery-namespace", kubernetesName, {
      default: "akash-discovery",
      usedBy: inventory,
      doc: "The namespace of the pods that look at nodes' hardware; nothing else should be in it.",
    }),
    discoveryPrivileged: setting("discovery-privileged", onOff, {
      default: "true",
      usedBy: inventory,
      doc: "Whether those pods are privileged; without, they run as nobody, and see the same unless a driver hides it.",
    }),
    discoveryApiPort: setting("api-port", port, {
      default: "8081",
      usedBy: ["discovery"],
      doc: "Port on which the pod that looks at a node's hardware answers.",
    }),
    discoveryRoot: setting("root", path, {
      default: "/",
      usedBy: ["discovery"],
      doc: "Where it finds the node's own /proc and /sys.",
    }),
  },
  inert: [
    dead("query-timeout", "no part of the inventory operator has ever read it", { usedBy: inventory }),
    dead("provider-pcidb-url", "the list of PCI devices was fetched but never used", { usedBy: inventory }),
  ],
});
