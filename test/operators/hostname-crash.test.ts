/**
 * The operator ends at every boundary on the way through a history of host names, and another one takes up where it was: in
 * the end all is as it would have been, and on the way no name of one owner ever led to another's workload.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { leaseOfLabels } from "../../src/kube/objects/lease-labels.ts";
import { settleMs } from "../../src/operators/hostname/plan.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { groupOf, leaseOf } from "../support/stages/declaration-stage.ts";
import {
  controllerKinds,
  type HostnameStage,
  openHostnameStage,
  routeKinds,
} from "../support/stages/hostname-stage.ts";
import { counts, seeds } from "../support/thorough.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const options = { ingressProvider: "traefik" } as const;
const group = groupOf({ hosts: ["a.example.com"] });

interface End {
  readonly objects: readonly unknown[];
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

/** Names come, are moved, change hands and go, with a change of a manifest on the way. */
async function play(t: TestContext, seed: number, crashAt: number): Promise<End> {
  const stage = openHostnameStage(t, { seed });
  stage.define(...controllerKinds.traefik);
  const boundary = createCountingBoundary(crashAt);
  let life = stage.start({ ...options, boundary });
  let isSecond = false;
  const watch = watchOwners(stage);
  const moments: (() => void)[] = [
    () => {
      for (const lease of [ann, annToo, ben]) stage.lease(lease, group);
      stage.declare("a.example.com", ann);
      stage.declare("*.example.org", ben);
    },
    () => stage.declare("a.example.com", annToo),
    () => stage.lease(ben, groupOf({ hosts: ["a.example.com"], httpOptions: { ...longer } })),
    () => stage.withdraw("*.example.org"),
    () => stage.declare("*.example.org", ann),
    () => stage.withdraw("a.example.com"),
    () => stage.declare("a.example.com", ben),
  ];
  for (const moment of moments) {
    moment();
    await stage.settled(settleMs + 2_000);
    if (!boundary.crashed || isSecond) continue;
    await life.stop().catch((thrown: unknown) => assert.ok(thrown instanceof SimulatedCrash));
    life = stage.start(options);
    isSecond = true;
    await stage.settled(settleMs + 2_000);
  }
  await stage.settled(10_000);
  await life.stop();
  assert.deepEqual(watch.wrong, []);
  return { objects: left(stage), crossings: boundary.crossings, crashed: boundary.crashed };
}

const longer = { maxBodySize: 2_000_000, readTimeout: 9_000, sendTimeout: 60_000, nextTries: 1, nextTimeout: 0 };

function left(stage: HostnameStage): unknown[] {
  const withServices: readonly Kind[] = [...routeKinds, kinds.service];
  return withServices
    .flatMap((kind) => stage.routes(kind))
    .map(({ metadata: { name, namespace, annotations }, ...object }) => {
      return { kind: object.kind, name, namespace, annotations, spec: object["spec"] };
    });
}

/** No Ingress leads to a lease whose owner does not have the name, once the operator had time to see that. */
function watchOwners(stage: HostnameStage) {
  const wrong: string[] = [];
  const ownerOf = (object: KubeObject | undefined) => leaseOfLabels(object?.metadata.labels)?.owner;
  stage.cluster.server.subscribe(({ type, kind, object }) => {
    if (type !== "added" || kind !== kinds.ingress) return;
    const declared = [...stage.cluster.server.list(kinds.providerHost)].find(
      ({ metadata }) => metadata.name === object.metadata.name,
    );
    if (declared && ownerOf(declared) !== ownerOf(object)) wrong.push(object.metadata.name);
  });
  return { wrong };
}

test("a crash of the operator at any write ends in the same state after a restart", async (t) => {
  await playCrashes(t, "hostname-crash", {
    seeds: seeds(counts(1, 1, 5)),
    sample: { every: 2 },
    async whole(seed) {
      const whole = await play(t, seed, 0);
      assert.ok(whole.crossings.length > 30, `only ${whole.crossings.length} boundaries`);
      return whole;
    },
    async crash({ seed, crashAt }, whole) {
      const { crashed, objects } = await play(t, seed, crashAt);
      assert.ok(crashed);
      assert.deepEqual(objects, whole.objects);
    },
  });
});
