/** The network's own provider runs on what we made, and we take over again: its rules, on an API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { installDefinitions } from "../src/kube/definitions.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { manifestResource } from "../src/kube/objects/manifest-resource.ts";
import type { ManifestGroup } from "../src/market/manifest.ts";
import { realClock } from "../src/runtime/clock.ts";
import { objectsOfLease, startAdopting } from "./adoption-stage.ts";
import { memoryFolder } from "./folder.ts";
import { asRecorded, deployAsNetwork } from "./go-made.ts";
import { shop } from "./lease-keeper-stage.ts";
import type { Owner } from "./owner.ts";
import { bidOf, orderKey } from "./reservation-stage.ts";

export function checkGoingBack(server: string, open: (owner: Owner) => (fieldManager: string) => Kube): void {
  test(`${server}: the network's provider runs on what we made, and what it then has is taken over again`, async (t) => {
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

    await deployAsNetwork(theirs, workload);
    const made = await objects();
    const first = await start("");
    await first.atRest(lease);
    await first.stop();
    // Nobody has changed anything: its templates are still what it wants, since the Manifest resource was not written.
    await deployAsNetwork(theirs, workload);
    assert.deepEqual(generations(await objects()), generations(made), "back at once");

    const second = await start("");
    await second.atRest(lease);
    const update = changedIn(group, "page", "page:2");
    await second.send(lease, update, "02");
    await second.atRest(lease, "02");
    await second.stop();
    const ours = await objects();
    checkReadable(ours.get(`manifests ${[...ours.values()][0]?.metadata.name}`), { ...workload, group: update });
    await deployAsNetwork(theirs, { ...workload, group: update });
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
