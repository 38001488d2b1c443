/**
 * Whatever is wished: a new process recognises what an old one has written, and leaves nothing unwritten that an apply
 * would have changed. The judge is the server, which knows whether an apply changes something.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Kind, kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";
import type { SimulatedCluster } from "../src/kube/simulated/simulated-kube.ts";
import { createVirtualClock } from "../src/runtime/clock.ts";
import { ProviderError } from "../src/runtime/errors.ts";
import { isRecord } from "../src/runtime/is-record.ts";
import { definitionOf } from "./kube-definition.ts";
import { createOwner } from "./owner.ts";
import { runs } from "./runs.ts";
import { namespace, simulateKube } from "./simulated-kube.ts";

interface Wish {
  readonly kind: Kind;
  readonly object: KubeObject;
}

const at = { namespace, name: "one" };
const us = "akash-provider";

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

function wishOf([kind, fields]: (typeof specs)[number]): fc.Arbitrary<Wish> {
  return fc
    .tuple(metadata, fields)
    .map(([more, rest]) => ({ kind, object: { metadata: { ...at, ...more }, ...rest } }));
}

const anyWish = fc.oneof(...specs.map(wishOf));
const anyTwo = fc.oneof(...specs.map((spec) => fc.tuple(labelled(wishOf(spec)), labelled(wishOf(spec)))));

/** With something to own: of an object that nobody owns anything of the server keeps no book. */
function labelled(wishes: fc.Arbitrary<Wish>): fc.Arbitrary<Wish> {
  return wishes.map(({ kind, object }) => {
    const { metadata } = object;
    return { kind, object: { ...object, metadata: { ...metadata, labels: { ours: "1", ...metadata.labels } } } };
  });
}

async function onCluster(check: (cluster: SimulatedCluster) => Promise<void>): Promise<void> {
  await using owner = createOwner();
  const cluster = simulateKube(owner, { clock: createVirtualClock() });
  cluster.server.create(kinds.customResourceDefinition, definitionOf(kinds.manifest), "test");
  await check(cluster);
}

test("a new process writes nothing that an old one has written", async () => {
  const property = fc.asyncProperty(anyWish, ({ kind, object }) =>
    onCluster(async ({ connect }) => {
      await connect(us).apply(kind, object);
      const restarted = connect(us);
      assert.equal((await restarted.apply(kind, object)).written, false);
      assert.equal(restarted.counts.requests, 1);
    }),
  );
  await fc.assert(property, { numRuns: runs(150, 20_000) });
});

test("a new process leaves nothing unwritten that an apply would change", async () => {
  const property = fc.asyncProperty(anyTwo.map(withoutEmptyRecords), ([first, second]) =>
    onCluster(async ({ connect, server }) => {
      await connect(us).apply(first.kind, first.object);
      const isWritten = await connect(us)
        .apply(second.kind, second.object)
        .then(() => true, isRefused);
      fc.pre(isWritten);
      // What was taken out may leave less behind than was wished; then the next one puts that in.
      await connect(us).apply(second.kind, second.object);
      assert.equal((await connect(us).apply(second.kind, second.object)).written, false);
      const before = server.get(second.kind, at);
      await connect(us).apply(second.kind, second.object, { live: null });
      assert.deepEqual(server.get(second.kind, at), before);
    }),
  );
  await fc.assert(property, { numRuns: runs(150, 20_000) });
});

test("a field of ours that somebody edited or removed is put back with one write", async () => {
  const property = fc.asyncProperty(labelled(anyWish), fc.nat(), fc.boolean(), ({ kind, object }, choice, removes) =>
    onCluster(async ({ connect, server }) => {
      await connect(us).apply(kind, object);
      const wished = server.get(kind, at);
      assert.ok(wished);
      server.update(kind, edited(wished, object, choice, removes), "kubectl-edit");
      const restarted = connect(us);
      assert.equal((await restarted.apply(kind, object, { force: true })).written, true);
      assert.equal(restarted.counts.applied, 1);
      assert.deepEqual(contentOf(server.get(kind, at)), contentOf(wished));
      assert.equal((await connect(us).apply(kind, object)).written, false);
    }),
  );
  await fc.assert(property, { numRuns: runs(100, 10_000) });
});

/** Who wishes no field of them would own them, which says nothing, so it is not worth a write. */
const shared = ["labels", "annotations", "data", "strategy", "securityContext", "resources", "limits", "requests"];

function withoutEmptyRecords<T>(wishes: T): T {
  const drop = (name: string, value: unknown) => (shared.includes(name) && isEmptyRecord(value) ? undefined : value);
  // Twice: what holds an empty one may then be empty too.
  return JSON.parse(JSON.stringify(JSON.parse(JSON.stringify(wishes, drop)), drop)) as T;
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

/** What may not change is refused; then there is nothing to see. */
function isRefused(thrown: unknown): false {
  if (ProviderError.is(thrown, "AKP_KUBE_REFUSED")) return false;
  throw thrown;
}

type Fields = Record<string, unknown>;

/** Somebody changes or removes one of the fields that are wished. */
function edited(live: KubeObject, wish: KubeObject, choice: number, removes: boolean): KubeObject {
  const object = structuredClone(live);
  const [container, wished] = [containerOf(object), containerOf(wish)];
  const [env, wishedEnv] = [container["env"], wished["env"]].map((list) => (list ?? []) as Fields[]);
  const places: [has: unknown, wishes: unknown, value: unknown][] = [
    [object.metadata.labels, wish.metadata.labels, "by-hand"],
    [object.metadata.annotations, wish.metadata.annotations, "by hand"],
    [object["data"], wish["data"], "Ynkw"],
    [container, { args: wished["args"] }, ["by hand"]],
    ...(env ?? []).map((each, n): [unknown, unknown, unknown] => [
      each,
      { value: wishedEnv?.[n]?.["value"] },
      "by hand",
    ]),
  ];
  const fields = places.flatMap(([has, wishes, value]) => {
    const [record, names] = [(has ?? {}) as Fields, (wishes ?? {}) as Fields];
    return Object.keys(names).flatMap((name) => (Object.hasOwn(record, name) ? { record, name, value } : []));
  });
  const { record, name, value } = fields[choice % fields.length] as (typeof fields)[number];
  if (removes) delete record[name];
  else record[name] = value;
  return object;
}

function containerOf(object: KubeObject): Fields {
  const spec = object["spec"] as { template?: { spec: { containers: Fields[] } } } | undefined;
  return spec?.template?.spec.containers[0] ?? {};
}

/** Without what is about the writes themselves. */
function contentOf(object: KubeObject | undefined): unknown {
  assert.ok(object);
  const { managedFields: _, resourceVersion: __, generation: ___, annotations, ...metadata } = object.metadata;
  const { "deployment.kubernetes.io/revision": ____, ...ours } = annotations ?? {};
  return { ...object, metadata: { ...metadata, annotations: ours }, status: undefined };
}
