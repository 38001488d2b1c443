/**
 * A restart writes nothing: everything that we make, and everything that the Go provider was seen to make, is
 * applied to a real API server, and then again by a new client. And the other way: what was meddled with is put back.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { definitionsOf } from "../../lab/build.ts";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { type Kind, kinds, resourceOf } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject, ObjectAt } from "../../src/kube/kube.ts";
import { leaseObjects } from "../../src/kube/objects/lease-objects.ts";
import type { DesiredObject } from "../../src/kube/objects/lease-workload.ts";
import { discoveryPod } from "../../src/operators/inventory/nodes/discovery-pod.ts";
import { eventually } from "../support/eventually.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import { webDeployment } from "../support/kube/kube-objects.ts";
import { shapes } from "../support/kube/object-shapes.ts";
import { createOwner } from "../support/owner.ts";
import { checkNothingIsLeftUnwritten, checkNothingIsWrittenAgain, type Place } from "../support/restart-properties.ts";
import { runs } from "../support/runs.ts";
import {
  objectSettings,
  sampleExpose,
  sampleResources,
  sampleService,
  sampleWorkload,
} from "../support/samples/lease-samples.ts";
import { recordedObjects } from "../support/samples/recorded-objects.ts";
import { kubectl } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube", "traefik"]);
/** With its controllers, which write into our objects too; no pod ever runs. */
const kubeconfig = skip ? "" : (await startControlPlane({ after }, { controllers: true })).kubeconfig;
if (!skip) await defineCustomKinds(open());

const image = "nowhere.example/web:1";

/** A lease with something of every kind. */
const volume = { name: "data", size: { val: "1073741824" }, attributes: [{ key: "persistent", value: "true" }] };
const leased = sampleWorkload(
  sampleService({
    env: ["A=1", "B="],
    args: ["serve"],
    expose: [sampleExpose, { ...sampleExpose, externalPort: 8080 }],
  }),
  sampleService({
    name: "db",
    resources: { ...sampleResources, storage: [volume] },
    params: { storage: [{ name: "data", mount: "/data", readOnly: false }], permissions: { read: ["logs"] } },
    credentials: { host: "registry.example", email: "", username: "who", password: "not-a-secret" },
  }),
);

interface NamedObject extends DesiredObject {
  readonly what: string;
}

describe("a restart on a real API server", { skip }, () => {
  test("writes nothing that our own builders make", async () => {
    const kube = open();
    const namespace = "built";
    await kube.create(kinds.namespace, { metadata: { name: namespace } });
    await checkUnchanged(kube, open(), await builtObjects(kube, namespace));
  });

  test("writes nothing that the Go provider was seen to make", async () => {
    const kube = open();
    const namespace = "recorded";
    await kube.create(kinds.namespace, { metadata: { name: namespace } });
    const wishes = recordedObjects().map(({ from, kind, fields, metadata }, index) => {
      const at = { name: `recorded-${index}`, ...(kind.namespaced ? { namespace } : {}) };
      return { what: from, kind, object: { metadata: { ...at, ...metadata }, ...fields } };
    });
    assert.ok(wishes.length > 50, `${wishes.length} are too few to be all`);
    await checkUnchanged(kube, open(), wishes);
  });

  test("writes nothing again and leaves nothing unwritten, whatever is wished", async () => {
    const kube = open();
    const namespace = "random";
    await kube.create(kinds.namespace, { metadata: { name: namespace } });
    let tried = 0;
    const inPlace = async (check: (place: Place) => Promise<void>) => {
      await using owner = createOwner();
      tried += 1;
      await check({ connect: () => openKube(owner, kubeconfig), at: { namespace, name: `random-${tried}` } });
    };
    await checkNothingIsWrittenAgain(inPlace, runs(60, 2_000));
    await checkNothingIsLeftUnwritten(inPlace, runs(60, 2_000));
  });

  test("puts back what was edited or removed by hand meanwhile, and takes out what is no longer wished", async () => {
    const kube = open();
    const namespace = "meddled";
    await kube.create(kinds.namespace, { metadata: { name: namespace } });
    const at = { namespace, name: "web" };
    const wish = webDeployment(namespace, image, 80);
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "" },
    ];
    const full = withContainer(wish, { env, args: ["a", "b"] });
    const container = "/spec/template/spec/containers/0";
    const edits = [
      [{ op: "replace", path: "/spec/replicas", value: 3 }],
      [{ op: "remove", path: `${container}/args` }],
      [{ op: "remove", path: `${container}/env/0` }],
      [{ op: "remove", path: `${container}/readinessProbe/periodSeconds` }],
      [{ op: "add", path: `${container}/env/1/value`, value: "by hand" }],
      [{ op: "add", path: `${container}/args/1`, value: "by hand" }],
      [{ op: "remove", path: "/metadata/labels/ours" }],
    ];
    const labelled = { ...full, metadata: { ...at, labels: { ours: "1" } } };
    await kube.apply(kinds.deployment, labelled);
    const wished = (await kube.get(kinds.deployment, at))?.["spec"];
    assert.ok(wished);
    for (const edit of edits) {
      const what = JSON.stringify(edit);
      await edited(kinds.deployment, at, edit);
      const restarted = open();
      assert.equal((await restarted.apply(kinds.deployment, labelled, { force: true })).written, true, what);
      assert.equal((await restarted.apply(kinds.deployment, labelled)).written, false, what);
      assert.deepEqual((await kube.get(kinds.deployment, at))?.["spec"], wished, what);
      assert.equal((await kube.get(kinds.deployment, at))?.metadata.labels?.["ours"], "1");
    }
    // Objects of others beside ours are ignored.
    await edited(kinds.deployment, at, [{ op: "add", path: "/metadata/labels/theirs", value: "1" }]);
    assert.equal((await open().apply(kinds.deployment, labelled)).written, false);

    assert.equal((await open().apply(kinds.deployment, wish)).written, true);
    const live = await kube.get(kinds.deployment, at);
    assert.ok(live);
    assert.deepEqual(live.metadata.labels, { theirs: "1" });
    assert.deepEqual(
      Object.keys(containerOf(live)).filter((name) => ["env", "args"].includes(name)),
      [],
    );
  });
});

function open(): Kube {
  return openKube({ after }, kubeconfig);
}

/** Applies all of them, and again with another client, which only looks. */
async function checkUnchanged(kube: Kube, restarted: Kube, wishes: readonly NamedObject[]): Promise<void> {
  for (const { kind, object } of wishes) await kube.apply(kind, object);
  const again: string[] = [];
  for (const { what, kind, object } of wishes) {
    if ((await restarted.apply(kind, object)).written) again.push(what);
  }
  assert.deepEqual(again, []);
  assert.equal(restarted.counts.requests, wishes.length, "each was looked at, with no other request");
}

async function builtObjects(kube: Kube, namespace: string): Promise<NamedObject[]> {
  const node = await kube.create(kinds.node, { metadata: { name: "one" } });
  const { uid } = node.metadata;
  assert.ok(uid);
  const pod = discoveryPod({ name: "one", uid }, { namespace, image, port: 8080, privileged: true });
  const tolerant = { containers: [{ name: "web", image }], tolerations: [{ key: "a", operator: "Exists" }] };
  return [
    { what: "labels of a node", kind: kinds.node, object: { metadata: { name: "one", uid, labels: { a: "b" } } } },
    { what: "a discovery pod", kind: kinds.pod, object: pod },
    { what: "a tolerant pod", kind: kinds.pod, object: { metadata: { namespace, name: "tolerant" }, spec: tolerant } },
    { what: "a namespace", kind: kinds.namespace, object: { metadata: { name: "web" } } },
    { what: "a web server", kind: kinds.deployment, object: webDeployment("web", image, 80) },
    ...Object.values(leaseObjects(leased, objectSettings))
      .flat()
      .map((each) => ({ what: each.kind.kind, ...each })),
    ...shapes.map(({ name, kind, wish }, n) => ({ what: name, kind, object: wish({ namespace, name: `shape-${n}` }) })),
  ];
}

/** Ours take what they are given; that of the Gateway API fills in its defaults. */
async function defineCustomKinds(kube: Kube): Promise<void> {
  const routes = resourceOf(kinds.httpRoute);
  const documents = parseAllDocuments(readFileSync(definitionsOf("traefik"), "utf8")).map((each) => each.toJS());
  const route = documents.find((each) => each?.metadata?.name === routes);
  assert.ok(route, `${routes} is defined`);
  const own = [kinds.manifest, kinds.providerHost, kinds.providerLeasedIp];
  for (const definition of [...own.map((kind) => definitionOf(kind)), route]) {
    await kube.create(kinds.customResourceDefinition, definition);
  }
  for (const kind of [...own, kinds.httpRoute]) await eventually(kind.plural, () => kube.list(kind));
}

async function edited(kind: Kind, at: ObjectAt, patch: readonly object[]): Promise<void> {
  const where = [`--kubeconfig=${kubeconfig}`, `--namespace=${at.namespace}`, "--field-manager=hand"];
  await kubectl("patch", ...where, resourceOf(kind), at.name, "--type=json", "--patch", JSON.stringify(patch));
}

type Fields = Readonly<Record<string, unknown>>;

function containerOf(object: KubeObject): Fields {
  const { template } = object["spec"] as { template: { spec: { containers: Fields[] } } };
  return template.spec.containers[0] ?? {};
}

function withContainer(object: KubeObject, more: Fields): KubeObject {
  const spec = object["spec"] as { template: { spec: { containers: Fields[] } } };
  const containers = [{ ...containerOf(object), ...more }];
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, containers } } } };
}
