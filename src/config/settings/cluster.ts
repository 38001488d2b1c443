import { z } from "zod";
import { domain, endpoint, hostname, kubernetesName, url } from "../formats/addresses.ts";
import type { Format } from "../formats/format.ts";
import { choice, count, diskSize, duration, onOff, path, percent } from "../formats/plain.ts";
import { belowUserHome, dead, group, inFileOnly, operators, optionalRow, setting } from "../setting.ts";

export const clusterGroup = group({
  title: "Cluster",
  about: "The Kubernetes cluster, how much of it is sold, and how leases are watched.",
  settings: {
    clusterK8s: setting("cluster-k8s", onOff, {
      default: "false",
      doc: "Sell the Kubernetes cluster; without it the chain is followed and nothing is bid.",
    }),
    kubeconfig: setting("kubeconfig", path, {
      alsoVariable: "KUBECONFIG",
      default: belowUserHome(".kube/config"),
      usedBy: ["run", ...operators, "install"],
      doc: "How to reach the cluster; in a pod where it is not given, the pod's own service account is used.",
    }),
    k8sManifestNamespace: setting("k8s-manifest-ns", kubernetesName, {
      default: "lease",
      usedBy: ["run", "hostname", "ip", "install"],
      doc: "Namespace of the custom resources; `install crds` makes it.",
    }),
    clusterDomain: setting("cluster-domain", domain, {
      default: "cluster.local",
      usedBy: ["run", "hostname", "ip"],
      doc: "The DNS domain of the cluster, below which its Services have their names; no tenant gets a host name there.",
    }),
    clusterPublicHostname: optionalRow("cluster-public-hostname", hostname, {
      usedBy: ["run", "hostname"],
      doc: "The name under which the cluster is reached: told to tenants, and what the certificate is issued for.",
    }),
    overcommitCpuPercent: setting("overcommit-pct-cpu", percent, {
      default: "0",
      doc: "CPU sold beyond what the nodes have; with 50, a node with 10 CPUs sells 15.",
    }),
    overcommitMemoryPercent: setting("overcommit-pct-mem", percent, {
      default: "0",
      doc: "Memory sold beyond what the nodes have.",
    }),
    overcommitStoragePercent: setting("overcommit-pct-storage", percent, {
      default: "0",
      doc: "Ephemeral storage sold beyond what the nodes have.",
    }),
    defaultEphemeralStorage: setting("default-ephemeral-storage", diskSize, {
      default: "1Gi",
      doc: "Disk of a node that each replica of a service gets, and that is set aside for it, if its tenant asks for none; a container that writes more is evicted.",
    }),
    dockerImagePullSecretsName: optionalRow("docker-image-pull-secrets-name", kubernetesName, {
      doc: "The pull secret for workloads that bring none.",
    }),
    deploymentRuntimeClass: setting("deployment-runtime-class", kubernetesName, {
      default: "none",
      doc: "The runtime class of every workload without an NVIDIA GPU (those have `nvidia`), a sandbox for instance; `none` sets none.",
    }),
    manifestTimeoutMs: setting("manifest-timeout", duration({ zero: "turns it off" }), {
      default: "5m",
      doc: "How long a lease waits for its manifest before it is closed; 0 turns this off.",
    }),
    monitorMaxRetries: setting("monitor-max-retries", count, {
      default: "2304",
      doc: "A lease is closed when its workload was unhealthy by the tenant's fault for this many times monitor-retry-period with half its jitter (with the defaults 24 hours); 0 closes none.",
    }),
    monitorRetryPeriodMs: setting("monitor-retry-period", duration({ least: "4s" }), {
      default: "30s",
      doc: "Part of how long a workload may be unhealthy, see monitor-max-retries, which is not a period of polling.",
    }),
    monitorRetryPeriodJitterMs: setting("monitor-retry-period-jitter", duration({ zero: "refused" }), {
      default: "15s",
      doc: "Half of it is added to that period.",
    }),
    inventoryOperatorEndpoint: optionalRow("inventory-operator-endpoint", endpoint, {
      doc: "Address of the inventory operator's gRPC port; default: its Service in the cluster.",
    }),
    ipOperator: setting("ip-operator", onOff, {
      default: "false",
      doc: "Lease IP addresses, with the help of the IP operator.",
    }),
    ipOperatorEndpoint: optionalRow("ip-operator-endpoint", endpoint, {
      doc: "Address of the IP operator's REST port; default: its Service in the cluster.",
    }),
    ipSharing: setting("ip-sharing", choice(["endpoint", "owner"]), {
      default: "endpoint",
      doc: "Which ports share a leased address: those of one endpoint, or all of an owner, who can then use each port once.",
    }),
    hostnameOperatorEndpoint: optionalRow("hostname-operator-endpoint", endpoint, {
      doc: "Address of the hostname operator, its REST or its gRPC port, for the health of host names; default: its Service in the cluster.",
    }),
    migrationsEnabled: setting("migrations-enabled", onOff, {
      default: "true",
      usedBy: ["run", "hostname"],
      doc: "Bring what an older version left in the cluster up to date: the hostname operator takes away routes of the other --ingress-mode once the new ones are in force.",
    }),
  },
  inert: [
    dead(
      "migrations-state-path",
      "what the Go provider left is taken over at every start, so nobody need note what was done",
    ),
    dead("monitor-healthcheck-period", "what runs is watched, not polled, so nothing is looked at every so often"),
    dead(
      "monitor-healthcheck-period-jitter",
      "what runs is watched, not polled, so nothing is looked at every so often",
    ),
    dead("cluster-node-port-quantity", "Kubernetes itself counts its node ports"),
    dead("cluster-wait-ready-duration", "the provider waits for the cluster as long as it takes, and says so"),
    dead("inventory-resource-poll-period", "the inventory is not polled, it is told of changes"),
    dead("inventory-resource-debug-frequency", "the inventory is in the status, and its changes are in the log"),
  ],
});

/** The chain's rule. */
const attributeKey = /^[a-zA-Z][\w/.-]{1,126}[\w*]?$/;

const attribute = z.strictObject(
  {
    key: z
      .string({ error: missingOr("it must be a text") })
      .regex(attributeKey, "it must begin with a letter, then letters, digits or any of _ / . -, 128 at most"),
    value: z.string({ error: missingOr('it must be a text; write "" for an empty one') }),
  },
  { error: "it must have a key and a value" },
);

type Attribute = z.infer<typeof attribute>;

const attributes: Format<readonly Attribute[]> = {
  expects: "each one like {key: region, value: us-west}",
  placeholder: "<attributes>",
  fields: ["key", "value"],
  show: (list) => list.map(({ key, value }) => `${key}=${value}`).join(", "),
  schema: z.array(attribute, { error: "it must be a list of keys and values" }).superRefine(
    (list, context) => {
      const keys = (list as readonly (Partial<Attribute> | undefined)[]).map((each) => each?.key);
      keys.forEach((key, index) => {
        if (key === undefined || keys.indexOf(key) === index) return;
        context.addIssue({ code: "custom", path: [index, "key"], message: "this key stands in the list twice" });
      });
    },
    // Also when something else is wrong with the list: a person wants to hear it all at once.
    { when: ({ value }) => Array.isArray(value) },
  ),
};

const infoShape = z.strictObject(
  {
    email: z.string({ error: "it must be a text" }).optional(),
    website: z.string({ error: "it must be a text" }).optional(),
  },
  { error: "it must have an email or a website" },
);

const info: Format<z.infer<typeof infoShape>> = {
  expects: "it like {email: me@example.com, website: https://example.com}",
  placeholder: "<info>",
  fields: ["email", "website"],
  show: ({ email, website }) => [email, website].filter(Boolean).join(", "),
  schema: infoShape,
};

function missingOr(otherwise: string) {
  return ({ input }: { readonly input?: unknown }) =>
    input === undefined || input === null ? "it is missing" : otherwise;
}

export const publishedGroup = group({
  title: "What the provider says about itself",
  about: "Published on the chain for tenants to see. These stand in provider.yaml only.",
  settings: {
    attributes: setting(inFileOnly, attributes, {
      key: "attributes",
      default: { says: "none", of: () => [] },
      doc: "What the provider is and has; orders ask for these.",
    }),
    hostUri: optionalRow(
      inFileOnly,
      url(["https"], "https://provider.example.com:8443", { credentials: "refused", path: "refused" }),
      { key: "host", doc: "Where tenants reach the gateway." },
    ),
    info: optionalRow(inFileOnly, info, { key: "info", doc: "How to reach the people behind the provider." }),
  },
});
