/** The Go provider runs on what we made, and we take over again: its rules, on an API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installDefinitions } from "../../../src/kube/definitions.ts";
import { fieldsOf } from "../../../src/kube/json-fields.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import type { LeaseWorkload } from "../../../src/kube/objects/lease-workload.ts";
import { manifestResource } from "../../../src/kube/objects/manifest-resource.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../../src/market/manifest.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { eventually } from "../eventually.ts";
import { memoryFolder } from "../folder.ts";
import { asRecorded, deployAsGoProvider } from "../go-provider-objects.ts";
import type { Owner } from "../owner.ts";
import { objectsOfLease, startAdopting } from "../stages/adoption-stage.ts";
import { shop } from "../stages/lease-keeper-stage.ts";
import { bidOf, orderKey } from "../stages/reservation-stage.ts";

export function checkRollback(server: string, open: (owner: Owner) => (fieldManager: string) => Kube): void {
  test(`${server}: the Go provider runs on what we made, and what it then has is taken over again`, async (t) => {
    const connect = open(t);
    const theirs = connect("provider-services");
    await installDefinitions(connect("operator"), realClock);
    await theirs.apply(kinds.namespace, { metadata: { name: "lease" } });
    const [group] = shop({ credentials: true, permissions: true }).manifest;
    assert.ok(group);
    const lease = bidOf(orderKey(77));
    const workload = { lease, group, offer: [] };
    const objects = () => objectsOfLease(theirs, lease);
    const dir = memoryFolder(t);
    const start = (current: string) =>
      startAdopting(t, () => connect("akash-provider"), [asRecorded(workload)], { dir, current });

    await deployAsGoProvider(theirs, workload);
    const made = await objects();
    const first = await start("");
    await first.atRest(lease);
    await first.stop();
    // Nobody has changed anything: its templates are still what it wants, since the Manifest resource was not written.
    await deployAsGoProvider(theirs, workload);
    assert.deepEqual(generations(await objects()), generations(made), "back at once");

    const second = await start("");
    await second.atRest(lease);
    const update = changedIn(group, "page", "page:2");
    await second.send(lease, update, "02");
    await second.atRest(lease, "02");
    await second.stop();
    const ours = await objects();
    checkReadable(ours.get(`manifests ${[...ours.values()][0]?.metadata.name}`), { ...workload, group: update });
    await deployAsGoProvider(theirs, { ...workload, group: update });
    const theirsNow = await objects();
    for (const [text, { metadata }] of ours) assert.equal(theirsNow.get(text)?.metadata.uid, metadata.uid, text);

    const third = await start("02");
    await third.atRest(lease);
    assert.deepEqual(generations(await objects()), generations(theirsNow), "taken over again");
    await third.send(lease, changedIn(update, "store", "store:2"), "03");
    await third.atRest(lease, "03");
    const last = generations(await objects());
    const [page, store] = [last["deployments page"], last["statefulsets store"]];
    assert.equal(page, generations(theirsNow)["deployments page"]);
    assert.ok((store ?? 0) > (generations(theirsNow)["statefulsets store"] ?? 0));
    await third.stop();
  });
}

function changedIn(group: ManifestGroup, name: string, image: string): ManifestGroup {
  return { ...group, services: group.services.map((each) => (each.name === name ? { ...each, image } : each)) };
}

function generations(objects: ReadonlyMap<string, KubeObject>): Record<string, number | undefined> {
  const workloads = [...objects].filter(([text]) => /^(deployments|statefulsets) /.test(text));
  return Object.fromEntries(workloads.map(([text, { metadata }]) => [text, metadata.generation]));
}

/** It compares spec and labels with what it wants, and looks leases up by labels: nothing may be missing there. */
function checkReadable(live: KubeObject | undefined, workload: Parameters<typeof manifestResource>[0]): void {
  const wanted = manifestResource(workload, { version: "", receivedAtMs: 0 }, { manifestNamespace: "lease" }).object;
  assert.deepEqual(live?.["spec"], JSON.parse(JSON.stringify(wanted["spec"])));
  assert.deepEqual(live?.metadata.labels, wanted.metadata.labels);
}

interface ReturningStage {
  readonly server: string;
  readonly open: (owner: Owner) => (fieldManager: string) => Kube;
  /** One service that may read logs, one that may not, with images that this cluster runs. */
  readonly group: ManifestGroup;
  readonly podsRunWithinMs?: number;
}

const byUs = bidOf(orderKey(78));
const byTheirs = bidOf(orderKey(79));
export const rollbackLeases = [byUs, byTheirs];

/** On a cluster with controllers and a kubelet. */
export function checkPodsSurviveRollback({ server, open, group, podsRunWithinMs }: ReturningStage): void {
  for (const madeBy of ["us", "the network's provider"]) {
    test(`${server}: pods of a lease made by ${madeBy} run on through ours, theirs, ours, theirs, ours`, async (t) => {
      const connect = open(t);
      const theirs = connect("provider-services");
      await installDefinitions(connect("operator"), realClock);
      await theirs.apply(kinds.namespace, { metadata: { name: "lease" } });
      const lease = madeBy === "us" ? byUs : byTheirs;
      const workload = { lease, group, offer: [] };
      const dir = memoryFolder(t);
      const uids = () => runningPods(theirs, workload, podsRunWithinMs);
      const underTheirs = async () => {
        await deployAsGoProvider(theirs, workload);
        return uids();
      };
      const current = madeBy === "us" ? "01" : "";
      const underOurs = async (isFirst = false) => {
        const life = await startAdopting(t, () => connect("akash-provider"), [asRecorded(workload)], { dir, current });
        if (isFirst && madeBy === "us") await life.send(lease, group, "01");
        await life.atRest(lease, current);
        const found = await uids();
        await life.stop();
        return found;
      };

      const made = madeBy === "us" ? [] : await underTheirs();
      const ours = await underOurs(true);
      if (madeBy !== "us") assert.deepEqual(ours, made, "taken over");
      // It restarts each pod of a workload that is not its own once: its template is another.
      const back = await underTheirs();
      if (madeBy !== "us") assert.deepEqual(back, ours, "gone back");
      assert.deepEqual(await underOurs(), back, "taken over a second time");
      assert.deepEqual(await underTheirs(), back, "gone back a second time");
      assert.deepEqual(await underOurs(), back, "taken over a third time");
    });
  }
}

/** Once every replica runs, of the newest template, and no other pod is left. */
async function runningPods(kube: Kube, { lease, group }: LeaseWorkload, limitMs?: number): Promise<string[]> {
  const namespace = leaseNamespace(lease);
  const wanted = group.services.reduce((sum, { count }) => sum + count, 0);
  const look = async () => {
    const sets = [kinds.deployment, kinds.statefulSet].map((kind) => kube.list(kind, { namespace }));
    const isRolled = ({ metadata, status }: KubeObject) => {
      const { observedGeneration, replicas, updatedReplicas, readyReplicas } = fieldsOf(status);
      const isNew = observedGeneration === metadata.generation && updatedReplicas === replicas;
      return isNew && readyReplicas === replicas;
    };
    if (!(await Promise.all(sets)).flat().every(isRolled)) return undefined;
    const pods = await kube.list(kinds.pod, { namespace });
    const isRunning = ({ metadata, status }: KubeObject) =>
      metadata.deletionTimestamp === undefined && fieldsOf(status)["phase"] === "Running";
    return pods.length === wanted && pods.every(isRunning)
      ? pods.map(({ metadata }) => `${metadata.uid}`).sort()
      : undefined;
  };
  return eventually("every replica", look, limitMs);
}
