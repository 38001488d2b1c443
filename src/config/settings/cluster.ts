import { endpoint, hostname, kubernetesName } from "../addresses.ts";
import { count, duration, onOff, path, percent } from "../plain.ts";
import { belowHome, belowUserHome, dead, type Group, operators, optional, setting } from "../setting.ts";

export const clusterGroup = {
  title: "Cluster",
  about: "The Kubernetes cluster, how much of it is sold, and how leases are watched.",
  settings: {
    clusterK8s: setting({
      flag: "cluster-k8s",
      kind: onOff,
      default: "false",
      doc: "Run leases on Kubernetes; without it they are only pretended.",
    }),
    kubeconfig: setting({
      flag: "kubeconfig",
      alsoVariable: "KUBECONFIG",
      kind: path,
      default: belowUserHome(".kube/config"),
      usedBy: ["run", ...operators],
      doc: "How to reach the cluster; in a pod where it is not given, the pod's own service account is used.",
    }),
    k8sManifestNamespace: setting({
      flag: "k8s-manifest-ns",
      kind: kubernetesName,
      default: "lease",
      usedBy: ["run", "hostname", "ip"],
      doc: "Namespace of the custom resources; it must exist.",
    }),
    clusterPublicHostname: optional({
      flag: "cluster-public-hostname",
      kind: hostname,
      doc: "The name under which the cluster is reached: told to tenants, and what the certificate is issued for.",
    }),
    overcommitCpuPercent: setting({
      flag: "overcommit-pct-cpu",
      kind: percent,
      default: "0",
      doc: "CPU sold beyond what the nodes have; with 50, a node with 10 CPUs sells 15.",
    }),
    overcommitMemoryPercent: setting({
      flag: "overcommit-pct-mem",
      kind: percent,
      default: "0",
      doc: "Memory sold beyond what the nodes have.",
    }),
    overcommitStoragePercent: setting({
      flag: "overcommit-pct-storage",
      kind: percent,
      default: "0",
      doc: "Ephemeral storage sold beyond what the nodes have.",
    }),
    dockerImagePullSecretsName: optional({
      flag: "docker-image-pull-secrets-name",
      kind: kubernetesName,
      doc: "The pull secret for workloads that bring none.",
    }),
    manifestTimeoutMs: setting({
      flag: "manifest-timeout",
      kind: duration({ zero: "turns it off" }),
      default: "5m",
      doc: "How long a lease waits for its manifest before it is closed; 0 turns this off.",
    }),
    monitorMaxRetries: setting({
      flag: "monitor-max-retries",
      kind: count,
      default: "40",
      doc: "How often an unhealthy workload is looked at again before its lease is closed.",
    }),
    monitorRetryPeriodMs: setting({
      flag: "monitor-retry-period",
      kind: duration({ least: "4s" }),
      default: "4s",
      doc: "Pause before an unhealthy workload is looked at again.",
    }),
    monitorRetryPeriodJitterMs: setting({
      flag: "monitor-retry-period-jitter",
      kind: duration({ zero: "refused" }),
      default: "15s",
      doc: "A random time up to this is added to that pause.",
    }),
    monitorHealthcheckPeriodMs: setting({
      flag: "monitor-healthcheck-period",
      kind: duration({ least: "4s" }),
      default: "10s",
      doc: "Pause before a healthy workload is looked at again.",
    }),
    monitorHealthcheckPeriodJitterMs: setting({
      flag: "monitor-healthcheck-period-jitter",
      kind: duration({ zero: "refused" }),
      default: "5s",
      doc: "A random time up to this is added to that pause.",
    }),
    ipOperator: setting({
      flag: "ip-operator",
      kind: onOff,
      default: "false",
      doc: "Lease IP addresses, with the help of the IP operator.",
    }),
    ipOperatorEndpoint: optional({
      flag: "ip-operator-endpoint",
      kind: endpoint,
      doc: "Where the IP operator answers; without it, it is looked for in the cluster.",
    }),
    hostnameOperatorEndpoint: optional({
      flag: "hostname-operator-endpoint",
      kind: endpoint,
      doc: "Where the hostname operator answers; without it, it is looked for in the cluster.",
    }),
    migrationsEnabled: setting({
      flag: "migrations-enabled",
      kind: onOff,
      default: "true",
      doc: "Bring what an older version left in the cluster up to date at start.",
    }),
    migrationsStatePath: setting({
      flag: "migrations-state-path",
      kind: path,
      default: belowHome("migrations.json"),
      doc: "Where the Go provider wrote down which of its migrations are done.",
    }),
    clusterNodePortQuantity: dead({
      flag: "cluster-node-port-quantity",
      why: "Kubernetes itself counts its node ports",
    }),
    clusterWaitReadyDuration: dead({
      flag: "cluster-wait-ready-duration",
      why: "the provider waits for the cluster as long as it takes, and says so",
    }),
    inventoryResourcePollPeriod: dead({
      flag: "inventory-resource-poll-period",
      why: "the inventory is not polled, it is told of changes",
    }),
    inventoryResourceDebugFrequency: dead({
      flag: "inventory-resource-debug-frequency",
      why: "the inventory is in the status, and its changes are in the log",
    }),
    deploymentRuntimeClass: dead({
      flag: "deployment-runtime-class",
      harmless: "none",
      why: "no runtime class is set but for GPUs, which choose theirs by vendor",
    }),
  },
} as const satisfies Group;
