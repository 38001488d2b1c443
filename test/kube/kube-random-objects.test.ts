/** Restarts and meddlers, on the simulated cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import { anyLabelledObject } from "../support/kube/random-objects.ts";
import { namespace, simulateKube } from "../support/kube/simulated-kube.ts";
import { createOwner } from "../support/owner.ts";
import { checkNothingIsLeftUnwritten, checkNothingIsWrittenAgain, type Place } from "../support/restart-properties.ts";
import { runs } from "../support/runs.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const at = { namespace, name: "one" };
const us = "akash-provider";

async function onCluster(check: (cluster: SimulatedCluster) => Promise<void>): Promise<void> {
  await using owner = createOwner();
  const cluster = simulateKube(owner, { clock: createVirtualClock() });
  cluster.server.create(kinds.customResourceDefinition, definitionOf(kinds.manifest), "test");
  await check(cluster);
}

const inPlace = (check: (place: Place) => Promise<void>) =>
  onCluster(({ connect }) => check({ connect: () => connect(us), at }));

test("a new process writes nothing that an old one has written", () =>
  checkNothingIsWrittenAgain(inPlace, runs(60, 5_000)));

test("a new process leaves nothing unwritten that an apply would change", () =>
  checkNothingIsLeftUnwritten(inPlace, runs(60, 5_000)));

test("a field of ours that another client edited or removed is put back with one write", async () => {
  const property = fc.asyncProperty(
    anyLabelledObject,
    fc.nat(),
    fc.boolean(),
    ({ kind, object: objectAt }, choice, removes) =>
      onCluster(async ({ connect, server }) => {
        const object = objectAt(at);
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
  await fc.assert(property, { numRuns: runs(40, 2_500) });
});

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
