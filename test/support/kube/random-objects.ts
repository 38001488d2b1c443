/** Random wishes of the kinds that the provider makes, in all the ways in which a builder may say the same. */
import fc from "fast-check";
import { type Kind, kinds } from "../../../src/kube/kinds.ts";
import type { KubeObject, ObjectAt } from "../../../src/kube/kube.ts";

export interface DesiredObject {
  readonly kind: Kind;
  /** Where it is to be. */
  object(at: ObjectAt): KubeObject;
}

/** All fields may be missing. */
function some<T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
  return fc.record(fields, { requiredKeys: [] });
}

const word = fc.constantFrom("", "a", "b");
const words = fc.array(word, { maxLength: 2 });
const map = fc.dictionary(fc.constantFrom("limits", "x", "y"), fc.constantFrom("", "1", "1000m"), { maxKeys: 2 });
const amount = fc.constantFrom("1", "1000m", 1, "0.5", "512Mi", "536870912");
const amounts = some({ cpu: amount, memory: amount });
const protocol = fc.constantFrom("TCP", "UDP");
const flag = fc.boolean();
const metadata = some({ labels: map, annotations: map });

const variable = fc.oneof(
  some({ value: word }),
  fc.constantFrom(
    { valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } },
    { valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    { valueFrom: { secretKeyRef: { name: "s", key: "k", optional: false } } },
  ),
);
const variables = fc
  .uniqueArray(fc.constantFrom("A", "B", "C"), { maxLength: 3 })
  .chain((names) => fc.tuple(...names.map((name) => variable.map((rest) => ({ name, ...rest })))));
const containerPorts = fc.uniqueArray(
  fc.record({ containerPort: fc.constantFrom(53, 80), protocol }, { requiredKeys: ["containerPort"] }),
  { maxLength: 3, selector: ({ containerPort, protocol = "TCP" }) => `${containerPort} ${protocol}` },
);
const container = fc.record(
  {
    name: fc.constant("web"),
    image: fc.constantFrom("nowhere.example/a:1", "nowhere.example/a"),
    args: words,
    env: variables,
    ports: containerPorts,
    resources: some({ limits: amounts, requests: fc.constant({}) }),
    securityContext: some({ privileged: flag, runAsUser: fc.constantFrom(0, 1000) }),
  },
  { requiredKeys: ["name", "image"] },
);
const toleration = fc.record(
  {
    key: fc.constant("a"),
    operator: fc.constant("Exists"),
    effect: fc.constant("NoExecute"),
    value: fc.constant(""),
    tolerationSeconds: fc.constantFrom(0, 9),
  },
  { requiredKeys: ["key", "operator", "effect"] },
);
const volume = fc.constantFrom(
  { emptyDir: {} },
  { emptyDir: { sizeLimit: "1024Mi" } },
  { secret: { secretName: "s" } },
);
const podSpec = fc
  .tuple(
    some({
      hostNetwork: fc.constant(false),
      nodeSelector: map,
      tolerations: fc.array(toleration, { maxLength: 2 }),
      volumes: fc.array(
        volume.map((source) => ({ name: "v", ...source })),
        { maxLength: 1 },
      ),
      terminationGracePeriodSeconds: fc.constantFrom(0, 30),
    }),
    container,
  )
  .map(([rest, web]) => ({ ...rest, containers: [web] }));

const labels = { app: "a" };
const selector = { matchLabels: labels };
const template = podSpec.map((spec) => ({ metadata: { labels }, spec }));
const replicas = fc.constantFrom(0, 1, 2);
const strategy = fc.constantFrom<object[]>({}, { type: "Recreate" }, { type: "RollingUpdate" });
const claims = fc.constantFrom(
  { resources: { requests: { storage: "1Gi" } } },
  { resources: { requests: { storage: "1024Mi" } }, storageClassName: "" },
  { resources: { requests: { storage: "1Gi" } }, volumeMode: "Filesystem" },
);
const claimTemplates = claims.map((rest) => [
  { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], ...rest } },
]);
const podSelector = fc.constantFrom<object[]>({}, { matchLabels: {} }, { matchLabels: labels });
const peer = fc.oneof(
  fc.record({ podSelector, namespaceSelector: podSelector }, { requiredKeys: ["podSelector"] }),
  fc.constantFrom({ ipBlock: { cidr: "0.0.0.0/0" } }, { ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8"] } }),
);
const policyPort = fc.record(
  { port: fc.constantFrom(53, 80), protocol, endPort: fc.constant(90) },
  { requiredKeys: ["port"] },
);
const rule = (side: "from" | "to") =>
  some({ [side]: fc.array(peer, { maxLength: 2 }), ports: fc.array(policyPort, { maxLength: 2 }) });
const servicePort = fc.record(
  { name: fc.constant("http"), port: fc.constant(80), targetPort: fc.constantFrom(80, "http"), protocol },
  { requiredKeys: ["name", "port"] },
);
const deep = fc.letrec((tie) => ({
  value: fc.oneof(word, fc.constantFrom(0, 1), flag, fc.array(word, { maxLength: 2 }), tie("record"), tie("list")),
  record: fc.dictionary(fc.constantFrom("limits", "requests", "protocol", "status"), tie("value"), { maxKeys: 3 }),
  list: fc.array(tie("record"), { maxLength: 2 }),
}));

const specs: [Kind, fc.Arbitrary<object>][] = [
  [kinds.configMap, some({ data: map, immutable: fc.constant(false) })],
  [
    kinds.secret,
    some({ data: fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("", "YQ==")), stringData: map }),
  ],
  [kinds.deployment, specOf(some({ replicas, strategy }), { selector: fc.constant(selector), template })],
  [
    kinds.statefulSet,
    specOf(some({ replicas }), { ...fixed(selector), template, volumeClaimTemplates: claimTemplates }),
  ],
  [
    kinds.networkPolicy,
    specOf(
      some({ ingress: fc.array(rule("from"), { maxLength: 2 }), egress: fc.array(rule("to"), { maxLength: 2 }) }),
      {
        podSelector,
        policyTypes: fc.constantFrom(["Ingress"], ["Ingress", "Egress"]),
      },
    ),
  ],
  [
    kinds.service,
    specOf(some({ selector: map, sessionAffinity: fc.constantFrom("None", "ClientIP") }), {
      type: fc.constantFrom("ClusterIP", "NodePort"),
      ports: servicePort.map((port) => [port]),
    }),
  ],
  [kinds.manifest, some({ spec: deep.record })],
];

function fixed(value: object) {
  return { selector: fc.constant(value), serviceName: fc.constant("") };
}

function specOf(optional: fc.Arbitrary<object>, required: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  return fc.tuple(optional, fc.record(required)).map(([some, rest]) => ({ spec: { ...some, ...rest } }));
}

function objectOf([kind, fields]: (typeof specs)[number]): fc.Arbitrary<DesiredObject> {
  return fc.tuple(metadata, fields).map(([more, rest]) => wish(kind, more, rest));
}

/** With something to own: of an object that no one owns anything of the server keeps no book. */
function labelledObjectOf([kind, fields]: (typeof specs)[number]): fc.Arbitrary<DesiredObject> {
  return fc
    .tuple(metadata, fields)
    .map(([more, rest]) => wish(kind, { ...more, labels: { ours: "1", ...more.labels } }, rest));
}

function wish(kind: Kind, more: object, rest: object): DesiredObject {
  return { kind, object: (at) => ({ metadata: { ...at, ...more } as KubeObject["metadata"], ...rest }) };
}

export const anyObject = fc.oneof(...specs.map(objectOf));
export const anyLabelledObject = fc.oneof(...specs.map(labelledObjectOf));
/** Of the same kind. */
export const anyTwoObjects = fc.oneof(...specs.map((spec) => fc.tuple(labelledObjectOf(spec), labelledObjectOf(spec))));
