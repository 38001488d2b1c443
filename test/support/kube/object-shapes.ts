/** Objects of every shape that the provider makes, in all the ways in which a builder may say the same. */
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject } from "../../../src/kube/kube.ts";

export interface Shape {
  readonly name: string;
  readonly kind: Kind;
  wish(at: { readonly namespace: string; readonly name: string }): KubeObject;
}

const labels = { app: "a" };

function shape(name: string, kind: Kind, fields: object, metadata: object = { labels }): Shape {
  return { name, kind, wish: (at) => ({ metadata: { ...at, ...metadata }, ...fields }) };
}

interface PodParts {
  readonly container?: object;
  readonly pod?: object;
  readonly spec?: object;
}

function workload({ container = {}, pod = {}, spec = {} }: PodParts): object {
  const containers = [{ name: "web", image: "nowhere.example/a:1", ...container }];
  const template = { metadata: { labels }, spec: { containers, ...pod } };
  return { spec: { replicas: 0, selector: { matchLabels: labels }, template, ...spec } };
}

function deployment(name: string, parts: PodParts): Shape {
  return shape(`a deployment ${name}`, kinds.deployment, workload(parts));
}

function container(name: string, fields: object): Shape {
  return deployment(name, { container: fields });
}

function pods(name: string, fields: object): Shape {
  return deployment(name, { pod: fields });
}

function statefulSet(name: string, claim: object, spec: object = {}): Shape {
  const template = { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], ...claim } };
  const parts = { spec: { serviceName: "", volumeClaimTemplates: [template], ...spec } };
  return shape(`a stateful set ${name}`, kinds.statefulSet, workload(parts));
}

function policy(name: string, spec: object): Shape {
  return shape(`a network policy ${name}`, kinds.networkPolicy, { spec: { podSelector: {}, ...spec } });
}

function service(name: string, spec: object): Shape {
  return shape(`a service ${name}`, kinds.service, { spec });
}

const http = { name: "http", port: 80, targetPort: 8080 };
const probe = { httpGet: { path: "/", port: 80 }, periodSeconds: 5 };
const fieldRef = { fieldPath: "metadata.name" };
const backend = { service: { name: "a", port: { number: 80 } } };
const gpus = {
  requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: gpuTerms() }] },
};

function gpuTerms(): object[] {
  return [
    { key: "akash.network/capabilities.gpu.vendor.nvidia.model.h100", operator: "Exists" },
    { key: "akash.network/capabilities.storage.class.beta2", operator: "Gt", values: ["0"] },
  ];
}

export const shapes: readonly Shape[] = [
  shape("an object of which only the name is wished", kinds.configMap, {}, {}),
  shape("a config map with empty maps", kinds.configMap, { data: {} }, { labels: {}, annotations: {} }),
  shape("a config map with an empty value", kinds.configMap, { data: { limits: "1000m", empty: "" } }),
  shape("a secret as text", kinds.secret, { stringData: { a: "b" } }),
  shape("a secret with a type", kinds.secret, { type: "Opaque", data: { a: "Yg==", empty: "" } }),
  shape("a service account", kinds.serviceAccount, { automountServiceAccountToken: false, imagePullSecrets: [] }),
  shape("a role", kinds.role, { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
  shape("a role without rules", kinds.role, { rules: [] }),
  shape("a role binding without groups", kinds.roleBinding, {
    roleRef: { kind: "Role", name: "x" },
    subjects: [
      { kind: "ServiceAccount", name: "a", namespace: "default" },
      { kind: "User", name: "b" },
    ],
  }),
  shape("a lease", kinds.lease, { spec: { holderIdentity: "", renewTime: "2026-01-01T00:00:00.123000Z" } }),
  shape("a claim", kinds.persistentVolumeClaim, {
    spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1024Mi" } } },
  }),

  deployment("that says little", {}),
  container("with empty variables", { env: [{ name: "A", value: "" }, { name: "B" }, { name: "C", value: "c" }] }),
  container("with variables from elsewhere", {
    env: [
      { name: "A", valueFrom: { fieldRef } },
      { name: "B", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: false } } },
      { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
    ],
    envFrom: [{ configMapRef: { name: "c" } }],
  }),
  container("with empty lists", { command: [], args: [], env: [], ports: [], volumeMounts: [] }),
  container("with ports", {
    ports: [{ containerPort: 53 }, { containerPort: 53, protocol: "UDP" }, { containerPort: 80, name: "http" }],
  }),
  container("with amounts in other words", {
    resources: {
      limits: { cpu: "1000m", memory: "1024Mi", "nvidia.com/gpu": 1 },
      requests: { cpu: 0.5, memory: "1e9" },
    },
  }),
  container("without amounts", { resources: {} }),
  container("with empty amounts", { resources: { limits: {}, requests: {} } }),
  container("with probes", { livenessProbe: probe, readinessProbe: { tcpSocket: { port: 80 } } }),
  container("with privileges", {
    securityContext: { privileged: false, runAsNonRoot: false, runAsUser: 0, capabilities: { add: [], drop: ["ALL"] } },
  }),
  pods("with settings that are off", { hostNetwork: false, hostPID: false, enableServiceLinks: false }),
  pods("with empty settings", { nodeSelector: {}, tolerations: [], securityContext: {}, imagePullSecrets: [] }),
  pods("with places to run", {
    affinity: { nodeAffinity: gpus, podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    nodeSelector: { a: "b" },
    runtimeClassName: "nvidia",
    tolerations: [
      { key: "a", operator: "Equal", value: "", effect: "" },
      { key: "b", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
    ],
  }),
  pods("with volumes", {
    volumes: [
      { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "1024Mi" } },
      { name: "scratch", emptyDir: {} },
      { name: "secret", secret: { secretName: "s", items: [{ key: "k", path: "p" }] } },
      { name: "claim", persistentVolumeClaim: { claimName: "c", readOnly: false } },
      {
        name: "token",
        projected: {
          sources: [{ serviceAccountToken: { path: "t" } }, { downwardAPI: { items: [{ path: "n", fieldRef }] } }],
        },
      },
    ],
  }),
  deployment("with a way to roll out", {
    spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
  }),
  deployment("with an empty way to roll out", { spec: { strategy: {} } }),

  statefulSet("with a claim", { storageClassName: "beta2", resources: { requests: { storage: "1Gi" } } }),
  statefulSet("with a claim in other words", {
    storageClassName: "",
    volumeMode: "Filesystem",
    resources: { limits: {}, requests: { storage: "1024Mi" } },
  }),
  statefulSet(
    "with rules for its claims",
    { resources: { requests: { storage: 1_073_741_824 } } },
    {
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
      updateStrategy: { type: "OnDelete" },
    },
  ),

  service("that is internal", { selector: labels, ports: [http] }),
  service("without an address", { clusterIP: "None", selector: labels, ports: [http] }),
  service("on every node", {
    type: "NodePort",
    selector: labels,
    ports: [http, { ...http, name: "u", protocol: "UDP" }],
  }),
  service("with an address of its own", { type: "LoadBalancer", selector: labels, ports: [http] }),

  policy("that shuts all in", { policyTypes: ["Ingress", "Egress"], ingress: [], egress: [] }),
  policy("with ports in short", { ingress: [{ ports: [{ port: 80 }] }], policyTypes: ["Ingress"] }),
  policy("with empty parts", { podSelector: { matchLabels: {} }, ingress: [{ from: [], ports: [] }] }),
  policy("with peers", {
    egress: [
      { to: [{ podSelector: {} }, { namespaceSelector: {}, podSelector: { matchLabels: {} } }] },
      { to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }], ports: [{ port: 53, protocol: "UDP" }] },
    ],
  }),

  shape("an ingress", kinds.ingress, {
    spec: {
      ingressClassName: "akash",
      rules: [{ host: "a.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    },
  }),
  shape("an ingress for all hosts", kinds.ingress, {
    spec: {
      rules: [{ host: "", http: { paths: [{ pathType: "ImplementationSpecific", path: "", backend }] } }],
      tls: [],
    },
  }),
];

/** Pairs of wishes that look alike and are not: the second one after the first must be written. */
export const unlikes: readonly { readonly name: string; readonly before: Shape; readonly after: Shape }[] = [
  unlike("text that looks like an amount", kinds.configMap, { data: { limits: "1000m" } }, { data: { limits: "1" } }),
  unlike("a value that is no longer wished", kinds.configMap, { data: { a: "1", b: "" } }, { data: { a: "1" } }),
  unlike("an empty value", kinds.configMap, { data: { a: "1" } }, { data: { a: "1", b: "" } }),
  {
    name: "no labels",
    before: shape("labelled", kinds.configMap, {}),
    after: shape("not labelled", kinds.configMap, {}, { labels: {} }),
  },
  unlike("an amount", kinds.deployment, limited("1"), limited("1001m")),
  unlike("no amount", kinds.deployment, limited("1"), workload({ container: { resources: {} } })),
  unlike("arguments in another order", kinds.deployment, args(["a", "b"]), args(["b", "a"])),
  unlike("no arguments", kinds.deployment, args(["a"]), args([])),
  unlike("no arguments at all", kinds.deployment, args(["a"]), workload({})),
  unlike("variables in another order", kinds.deployment, env("A", "B"), env("B", "A")),
  unlike("no variables", kinds.deployment, env("A"), env()),
  unlike("a toleration for ever", kinds.deployment, tolerates({ tolerationSeconds: 0 }), tolerates({})),
  unlike("a toleration for no time", kinds.deployment, tolerates({}), tolerates({ tolerationSeconds: 0 })),
  unlike("a toleration of more", kinds.deployment, tolerates({}), tolerates({ effect: "" })),
  unlike("every namespace", kinds.networkPolicy, from({}), from({ namespaceSelector: {} })),
  unlike("only neighbours", kinds.networkPolicy, from({ namespaceSelector: {} }), from({})),
  unlike("every pod", kinds.networkPolicy, chosen({ matchLabels: labels }), chosen({})),
  unlike("missing", kinds.networkPolicy, from({}), { spec: { podSelector: {}, ingress: [] } }),
  unlike("another protocol", kinds.networkPolicy, open({ port: 53, protocol: "UDP" }), open({ port: 53 })),
  unlike("one port", kinds.networkPolicy, open({ port: 53, endPort: 60 }), open({ port: 53 })),
];

function unlike(name: string, kind: Kind, before: object, after: object) {
  return { name, before: shape(name, kind, before), after: shape(name, kind, after) };
}

function limited(cpu: string): object {
  return workload({ container: { resources: { limits: { cpu } } } });
}

function args(values: string[]): object {
  return workload({ container: { args: values } });
}

function env(...names: string[]): object {
  return workload({ container: { env: names.map((name) => ({ name, value: "1" })) } });
}

function tolerates(more: object): object {
  return workload({ pod: { tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", ...more }] } });
}

function from(peer: object): object {
  return { spec: { podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: labels }, ...peer }] }] } };
}

function chosen(podSelector: object): object {
  return { spec: { podSelector, policyTypes: ["Ingress"] } };
}

function open(port: object): object {
  return { spec: { podSelector: {}, ingress: [{ ports: [port] }] } };
}
