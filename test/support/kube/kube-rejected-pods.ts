/**
 * Pods and what makes them that the API server rejects, and what it says. The whole list, and how it is used, is in
 * kube-rejected-objects.ts.
 */
import { kinds } from "../../../src/kube/kinds.ts";
import { containers } from "./kube-rejected-containers.ts";
import { claimOf, type Fields, labels, meta, type RejectedObject, type Row, rejectedOf } from "./kube-rejected-rows.ts";

const web = { name: "web", image: "nowhere.example/web:1" };

const templateOf = (container: Fields = {}, pod: Fields = {}) => ({
  metadata: { labels },
  spec: { containers: [{ ...web, ...container }], ...pod },
});

const deploymentOf = (spec: Fields, container?: Fields, pod?: Fields): Fields => ({
  metadata: meta(),
  spec: { replicas: 0, selector: { matchLabels: labels }, template: templateOf(container, pod), ...spec },
});

const statefulSetOf = (spec: Fields = {}): Fields => deploymentOf({ serviceName: "it", ...spec });

const nodes = (...nodeSelectorTerms: Fields[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});

const podOf = (spec: Fields): Fields => ({ metadata: meta(), spec: { containers: [web], ...spec } });

const claimTemplate = (spec: Fields = {}) => ({ ...claimOf(spec), metadata: { name: "data" } });

/** Of a pod's template. */
const pods: readonly Row[] = [
  [
    "spread over nothing",
    { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "a", whenUnsatisfiable: "DoNotSchedule" }] },
    "topologySpreadConstraints[0].maxSkew Invalid",
  ],
  ["a name for an address that is none", { hostAliases: [{ ip: "x", hostnames: ["a"] }] }, "hostAliases[0].ip Invalid"],
  [
    "timeout with what never happens",
    { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 3 }] },
    "tolerations[0].effect Invalid",
  ],
  ["no containers", { containers: [] }, "containers Required"],
  ["a policy of restarts that is not Always", { restartPolicy: "Never" }, "restartPolicy NotSupported"],
  [
    "two containers of one name",
    {
      containers: [web, { name: "web", image: "b" }],
    },
    "containers[1].name Duplicate",
  ],
  [
    "two containers of one name, applied",
    {
      containers: [web, { name: "web", image: "b" }],
    },
    "500",
    { by: "apply" },
  ],
  [
    "two volumes of one name",
    {
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "a", emptyDir: {} },
      ],
    },
    "volumes[1].name Duplicate",
  ],
  ["a volume with a bad name", { volumes: [{ name: "A_b", emptyDir: {} }] }, "volumes[0].name Invalid"],
  [
    "a volume of two sources",
    { volumes: [{ name: "a", emptyDir: {}, hostPath: { path: "/x" } }] },
    "volumes[0].hostPath Forbidden",
  ],
  [
    "a volume of a claim without a name",
    { volumes: [{ name: "a", persistentVolumeClaim: { claimName: "" } }] },
    "volumes[0].persistentVolumeClaim.claimName Required",
  ],
  [
    "a volume in memory of a negative size",
    { volumes: [{ name: "a", emptyDir: { medium: "Memory", sizeLimit: "-1" } }] },
    "volumes[0].emptyDir.sizeLimit Forbidden",
  ],
  [
    "a folder of the host that leads out",
    { volumes: [{ name: "a", hostPath: { path: "/a/../b" } }] },
    "volumes[0].hostPath.path Invalid",
  ],
  [
    "a volume of a secret with a bad mode",
    { volumes: [{ name: "a", secret: { secretName: "b", defaultMode: 4096 } }] },
    "volumes[0].secret.defaultMode Invalid",
  ],
  ["a policy of names that is unknown", { dnsPolicy: "Ask" }, "dnsPolicy NotSupported"],
  ["no policy of names, and no servers", { dnsPolicy: "None" }, "dnsConfig Required"],
  ["a host name with a bad character", { hostname: "a_b" }, "hostname Invalid"],
  ["a runtime class with a bad name", { runtimeClassName: "A_b" }, "runtimeClassName Invalid"],
  ["a service account with a bad name", { serviceAccountName: "A_b" }, "serviceAccountName Invalid"],
  ["a selector of nodes with a bad value", { nodeSelector: { a: "-b" } }, "nodeSelector Invalid"],
  [
    "a toleration of an effect that is unknown",
    { tolerations: [{ key: "a", effect: "Run" }] },
    "tolerations[0].effect NotSupported",
  ],
  [
    "a toleration of what exists with a value",
    { tolerations: [{ key: "a", operator: "Exists", value: "b" }] },
    "tolerations[0].operator Invalid",
  ],
  ["a toleration of no key but a value", { tolerations: [{ value: "b" }] }, "tolerations[0].operator Invalid"],
  [
    "an affinity to nodes without terms",
    nodes(),
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms Required",
  ],
  [
    "an affinity with an operator that is unknown",
    nodes({ matchExpressions: [{ key: "a", operator: "Like", values: ["b"] }] }),
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator Invalid",
  ],
  [
    "an affinity of values without values",
    nodes({ matchExpressions: [{ key: "a", operator: "In" }] }),
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values Required",
  ],
  [
    "an affinity of existence with values",
    nodes({ matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] }),
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values Forbidden",
  ],
  [
    "pods kept apart by nothing",
    {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: labels } }],
        },
      },
    },
    "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey Required, affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey Invalid, affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey Invalid",
  ],
  ["a secret for pulls twice, applied", { imagePullSecrets: [{ name: "a" }, { name: "a" }] }, "500", { by: "apply" }],
  [
    "a port of the host that is not the container's, on the host's network",
    { containers: [{ ...web, ports: [{ containerPort: 80, hostPort: 81 }] }], hostNetwork: true },
    "containers[0].ports[0].hostPort Invalid",
  ],
  [
    "a mount without a path",
    { containers: [{ ...web, volumeMounts: [{ name: "a" }] }], volumes: [{ name: "a", emptyDir: {} }] },
    "containers[0].volumeMounts[0].mountPath Required",
  ],
  [
    "two mounts at one path",
    {
      containers: [
        {
          ...web,
          volumeMounts: [
            { name: "a", mountPath: "/x" },
            { name: "b", mountPath: "/x" },
          ],
        },
      ],
      volumes: [
        { name: "a", emptyDir: {} },
        { name: "b", emptyDir: {} },
      ],
    },
    "containers[0].volumeMounts[1].mountPath Invalid",
  ],
  [
    "a mount of a part that leads out",
    {
      containers: [{ ...web, volumeMounts: [{ name: "a", mountPath: "/x", subPath: "../y" }] }],
      volumes: [{ name: "a", emptyDir: {} }],
    },
    "containers[0].volumeMounts.subPath Invalid",
  ],
];

/** Of a deployment's spec. */
const deployments: readonly Row[] = [
  ["a number of replicas that is none", { replicas: "two" }, "400 BadRequest"],
  ["a number of replicas that is none, applied", { replicas: "two" }, "500", { by: "apply" }],
  ["no selector", { selector: undefined }, "selector Required, template.metadata.labels Invalid"],
  ["an empty selector", { selector: {} }, "selector Invalid"],
  [
    "a selector that does not fit the template",
    { selector: { matchLabels: { app: "b" } } },
    "template.metadata.labels Invalid",
  ],
  [
    "a selector with an operator that is unknown",
    { selector: { matchLabels: labels, matchExpressions: [{ key: "a", operator: "Like" }] } },
    "selector.matchExpressions[0].operator Invalid, selector Invalid",
  ],
  [
    "a selector of values without values",
    { selector: { matchLabels: labels, matchExpressions: [{ key: "app", operator: "In", values: [] }] } },
    "selector.matchExpressions[0].values Required, selector Invalid",
  ],
  ["fewer than no replicas", { replicas: -1 }, "replicas Invalid"],
  ["a strategy that is unknown", { strategy: { type: "Slowly" } }, "strategy NotSupported"],
  [
    "a rolling update of one that recreates",
    { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
    "strategy.rollingUpdate Forbidden",
  ],
  [
    "no surge and none unavailable",
    { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
    "strategy.rollingUpdate.maxUnavailable Invalid",
  ],
  [
    "a surge that is no share",
    { strategy: { rollingUpdate: { maxSurge: "many" } } },
    "strategy.rollingUpdate.maxSurge Invalid",
  ],
  ["less than no time to be ready", { minReadySeconds: -1 }, "minReadySeconds Invalid"],
  [
    "a deadline before it is ready",
    { minReadySeconds: 20, progressDeadlineSeconds: 10 },
    "progressDeadlineSeconds Invalid",
  ],
  [
    "another selector than before",
    {
      selector: { matchLabels: { app: "b" } },
      template: { metadata: { labels: { app: "b" } }, spec: { containers: [web] } },
    },
    "selector Invalid",
    { after: {} },
  ],
  [
    "a template with a bad label",
    {
      template: {
        metadata: { labels: { ...labels, "a b": "c" } },
        spec: { containers: [web] },
      },
    },
    "template.labels Invalid",
  ],
];

const statefulSets: readonly Row[] = [
  [
    "a mount without its volume",
    statefulSetOf({ template: templateOf({ volumeMounts: [{ name: "x", mountPath: "/x" }] }) }),
    "spec.template.spec.containers[0].volumeMounts[0].name NotFound",
  ],
  [
    "no selector",
    statefulSetOf({ selector: undefined }),
    "spec.selector Required, spec.template.metadata.labels Invalid",
  ],
  ["a service with a bad name", statefulSetOf({ serviceName: "A_b" }), "spec.serviceName Invalid"],
  [
    "a template of claims without a size",
    statefulSetOf({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }] }),
    "spec.volumeClaimTemplates[0].spec.resources[storage] Required",
  ],
  [
    "a template of claims without a way of access",
    statefulSetOf({ volumeClaimTemplates: [claimTemplate({ accessModes: [] })] }),
    "spec.volumeClaimTemplates[0].spec.accessModes Required",
  ],
  [
    "a template of claims with a bad name",
    statefulSetOf({ volumeClaimTemplates: [{ ...claimTemplate(), metadata: { name: "Data_" } }] }),
    "spec.template.spec.volumes[0].name Invalid",
  ],
  [
    "another service than before",
    statefulSetOf({ serviceName: "other" }),
    "spec Forbidden",
    { after: statefulSetOf() },
  ],
  [
    "other templates of claims than before",
    statefulSetOf({ volumeClaimTemplates: [claimTemplate({ storageClassName: "other" })] }),
    "spec Forbidden",
    { after: statefulSetOf({ volumeClaimTemplates: [claimTemplate()] }) },
  ],
  [
    "another order of pods than before",
    statefulSetOf({ podManagementPolicy: "Parallel" }),
    "spec Forbidden",
    { after: statefulSetOf() },
  ],
  [
    "an order of pods that is unknown",
    statefulSetOf({ podManagementPolicy: "Random" }),
    "spec.podManagementPolicy Invalid",
  ],
  ["a strategy that is unknown", statefulSetOf({ updateStrategy: { type: "Slowly" } }), "spec.updateStrategy Invalid"],
];

const barePods: readonly Row[] = [
  [
    "another command than before",
    podOf({ containers: [{ ...web, command: ["b"] }] }),
    "spec Forbidden",
    { after: podOf({}) },
  ],
  ["a policy of restarts that is unknown", podOf({ restartPolicy: "Perhaps" }), "spec.restartPolicy NotSupported"],
  ["a name of a node that is none", podOf({ nodeName: "A_b" }), "spec.nodeName Invalid"],
  ["a deadline of 0", podOf({ activeDeadlineSeconds: 0 }), "spec.activeDeadlineSeconds Invalid"],
  ["a first container of another's name", podOf({ initContainers: [web] }), "spec.initContainers[0].name Duplicate"],
  [
    "a first container with a probe",
    podOf({ initContainers: [{ ...web, name: "first", livenessProbe: { tcpSocket: { port: 80 } } }] }),
    "spec.initContainers[0].livenessProbe Forbidden",
  ],
  [
    "one port of the host twice",
    podOf({
      containers: [
        {
          ...web,
          ports: [
            { containerPort: 80, hostPort: 80 },
            { containerPort: 81, hostPort: 80 },
          ],
        },
      ],
    }),
    "spec.containers[0].ports[1].hostPort Duplicate",
  ],
  ["a priority class that there is not", podOf({ priorityClassName: "nope" }), "403 Forbidden"],
  ["a runtime class that there is not", podOf({ runtimeClassName: "nope" }), "403 Forbidden"],
];

export const rejectedPods: readonly RejectedObject[] = [
  ...rejectedOf(kinds.deployment, containers, {
    make: (given) => deploymentOf({}, given),
    at: "spec.template.spec.containers[0].",
  }),
  ...rejectedOf(kinds.deployment, pods, { make: (given) => deploymentOf({}, {}, given), at: "spec.template.spec." }),
  ...rejectedOf(kinds.deployment, deployments, { make: deploymentOf, at: "spec." }),
  ...rejectedOf(kinds.statefulSet, statefulSets),
  ...rejectedOf(kinds.pod, barePods),
];
