/** An upgrade of the inventory operator, as its nodes see it: the discovery pods of the version before are there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { discoveryPod, livePod } from "../../src/operators/inventory/nodes/discovery-pod.ts";
import { discoveryReplacedAtOnce, discoveryReplaceMs } from "../../src/operators/inventory/nodes/discovery-pods.ts";
import { discoveryImage, hardware, namespace, type Stage, stage } from "../support/stages/inventory-stage.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";

const oldImage = "discovery:0";

/** What the version before has left behind, running and ready. */
async function leaveOldPods({ server }: SimulatedCluster, clock: VirtualClock): Promise<void> {
  for (const { metadata } of server.list(kinds.node)) {
    const node = { name: metadata.name, uid: metadata.uid ?? "" };
    server.create(kinds.pod, discoveryPod(node, { namespace, image: oldImage, port: 8081, privileged: true }), "test");
  }
  const pods = () => server.list(kinds.pod, { namespace });
  await clock.advanceUntil(() => pods().every((pod) => livePod(pod).ready), 60_000);
}

function images({ discoveryPods }: Stage): readonly (string | undefined)[] {
  return discoveryPods().map(({ spec }) => (spec as Spec).containers[0]?.image);
}

interface Spec {
  readonly containers: readonly { readonly image: string }[];
}

test("no snapshot lacks GPU models while all discovery pods are replaced", async (t) => {
  const staged = await stage(t, { prepare: leaveOldPods });
  const { node, until, pictures } = staged;
  await until("all pods to be of this version", () => images(staged).every((image) => image === discoveryImage));
  await until("them to have answered", () => node("one")?.conditions.length === 0);
  assert.ok(pictures.length > 1);
  for (const picture of pictures) {
    for (const { namedGpus } of picture.nodes) assert.equal(namedGpus.length, hardware.gpus.length);
  }
});

test("an old discovery pod that does not answer is replaced all the same", async (t) => {
  const answers = (image: string) => (image === oldImage ? undefined : hardware);
  const { node, until } = await stage(t, { prepare: leaveOldPods, hardware: answers });
  await until("the answer of its successor", () => node("one")?.hardware);
});

test("discovery pods are replaced a few at a time, and no further while successors fail", async (t) => {
  const nodes = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const answers = (image: string) => (image === oldImage || works ? hardware : undefined);
  let works = false;
  const staged = await stage(t, { nodes, prepare: leaveOldPods, hardware: answers });
  const { clock, until, pictures } = staged;
  const old = () => images(staged).filter((image) => image === oldImage).length;
  await until("the first ones", () => old() === nodes.length - discoveryReplacedAtOnce);
  await clock.advance(discoveryReplaceMs / 2);
  assert.equal(old(), nodes.length - discoveryReplacedAtOnce);
  works = true;
  await until("all pods to be of this version", () => images(staged).every((image) => image === discoveryImage));
  assert.ok(pictures.every((picture) => picture.nodes.every(({ namedGpus }) => namedGpus.length > 0)));
});

test("nodes whose successor never answers do not hold up the others for ever", async (t) => {
  const nodes = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const answers = (image: string) => (image === oldImage ? hardware : undefined);
  const staged = await stage(t, { nodes, prepare: leaveOldPods, hardware: answers });
  const { clock } = staged;
  await clock.advance(discoveryReplaceMs * 4);
  assert.ok(!images(staged).includes(oldImage));
});

test("existing discovery pods are queried before the image is known", async (t) => {
  const { node, until, pictures } = await stage(t, { prepare: leaveOldPods, image: () => undefined });
  await until("the first snapshot", () => node("one"));
  assert.deepEqual(pictures[0]?.nodes[0]?.hardware, hardware);
});
