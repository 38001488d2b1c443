/**
 * Machines of a real cluster that are drained, lost and brought back, a pod that is evicted, a volume that cannot move: the
 * leases stay and say what is wrong, and what is offered adds up at every step. Two machines are KWOK's; volumes are made on
 * the real one.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { callApi } from "../../lab/api.ts";
import { fakeNode } from "../../lab/kwok/component.ts";
import { nodeName, places } from "../../lab/places.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { formatDeploymentId, formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { adjustable, createLedger, type Wish } from "../support/capacity-ledger.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { createOwner } from "../support/owner.ts";
import { type Life, startLife, startOperator, storageClass } from "../support/stages/capacity-stage.ts";
import { bidOf, chainOf, createWorld, leaseOf, openBid, orderKey } from "../support/stages/reservation-stage.ts";
import { fakeNodes, kubectl, labIsMissing, podStartsWithinMs, takeNode } from "./cluster.ts";
import { shellImage } from "./lease-sdl.ts";
import { openKube } from "./open-kube.ts";
import { type ProviderAccount, providerAccount } from "./provider-account.ts";

const deps = { clock: realClock, random: realRandom, log: silentLog };
/** Of what is reckoned with. */
const audited = [kinds.node, kinds.pod, kinds.persistentVolume, kinds.persistentVolumeClaim, kinds.namespace] as const;
/** A node is held for lost after 50 seconds, and a snapshot is proven within a minute. */
const settleWithinMs = 120_000;

describe("machines of the lab that come and go", { skip: labIsMissing }, () => {
  const owner = createOwner();
  const world = createWorld();
  const { chain, step } = chainOf(world);
  const leases: LeaseId[] = [];
  const objects = new Map<Kind, readonly KubeObject[]>();
  let endTurn: () => void = () => undefined;
  let account: ProviderAccount;
  let admin: Kube;
  let source: ReturnType<typeof startOperator>;
  let dir: string;
  let life: Life;
  let fakes: string[];
  const ledger = createLedger({ objects: (kind) => objects.get(kind) ?? [], keeper: () => life.keeper });

  async function start(): Promise<void> {
    const kube = openKube(owner, account.kubeconfig);
    life = await startLife({ chain, kube, source, dir, manifestNamespace: account.leaseNamespace, ...deps });
  }

  before(async () => {
    endTurn = await takeNode();
    account = await providerAccount(owner);
    admin = openKube(owner, places.kubeconfig, { fieldManager: "observer" });
    dir = temporaryFolder(owner);
    await kubectl("label", "storageclass", storageClass, "akash.network=true", "--overwrite");
    fakes = await fakeNodes(owner, 2);
    await kubectl("taint", "node", ...fakes, `${fakeNode.key}-`);
    source = startOperator(
      owner,
      openKube(owner, places.kubeconfig, { fieldManager: "akash-operator-inventory" }),
      deps,
    );
    await start();
    await eventually("the first snapshot", () => life.keeper.book.room.nodes.length === 3, podStartsWithinMs);
  });
  after(async () => {
    await life?.stop();
    if (leases.length > 0) await kubectl("delete", "namespace", "--ignore-not-found", ...leases.map(leaseNamespace));
    await kubectl("uncordon", nodeName);
    await kubectl("label", "storageclass", storageClass, "akash.network-");
    await owner[Symbol.asyncDispose]();
    endTurn();
  });

  async function deploy(dseq: number, wish: Wish): Promise<LeaseId> {
    const sdl = adjustable(wish, shellImage);
    const [key, group] = [orderKey(dseq), sdl.groups[0]];
    assert.ok(group);
    const lease = bidOf(key);
    const { capacity } = life.keeper;
    const fit = await eventually("room", () => {
      const found = capacity.fit(group);
      return found.fits && found;
    });
    const reserved = capacity.reserve({ orderId: key, group, offer: fit.offer, expiresAtMs: Number.MAX_SAFE_INTEGER });
    assert.ok(reserved.fits);
    world.bids.set(formatLeaseId(lease), openBid(key));
    world.deployments.set(formatDeploymentId(lease), { groups: [{ id: lease, spec: group }] } as never);
    await life.journal.durable("bid", reserved.write);
    ledger.promised(dseq, wish);
    world.leases.set(formatLeaseId(lease), leaseOf(key));
    leases.push(lease);
    for (const bid of ledger.bids()) bid.lease = lease;
    const [service] = sdl.manifest;
    await life.journal.durable("manifest", ({ manifests }) =>
      manifests.put({ leaseId: formatLeaseId(lease), version: `${dseq}`.repeat(64), body: JSON.stringify([service]) }),
    );
    void step({ kind: "lease", key: formatLeaseId(lease) });
    life.leases.wake(formatLeaseId(lease));
    await healthy(lease);
    return lease;
  }

  const problemsOf = (lease: LeaseId) =>
    life.health.get(formatLeaseId(lease))?.troubles.map(({ reason }) => reason) ?? [];

  async function healthy(lease: LeaseId): Promise<void> {
    const state = () => life.health.get(formatLeaseId(lease));
    await eventually(`the health of ${lease.dseq}`, () => state()?.state === "healthy", settleWithinMs).catch(
      (thrown) => {
        throw new Error(JSON.stringify(state()), { cause: thrown });
      },
    );
  }

  async function addsUp(): Promise<void> {
    await eventually(
      "what is offered",
      async () => {
        for (const kind of audited) objects.set(kind, await admin.list(kind));
        ledger.audit();
        return true;
      },
      settleWithinMs,
    );
  }

  const podsOf = (lease: LeaseId) => admin.list(kinds.pod, { namespace: leaseNamespace(lease) });
  const nodeOf = (pod: KubeObject) => (pod["spec"] as { nodeName?: string }).nodeName;

  it("keeps leases and books in order", async (t) => {
    await kubectl("cordon", ...fakes);
    await addsUp();
    const kept = await deploy(1, { pages: 1, apis: 0, stores: 1, caches: 0 });
    await addsUp();
    await kubectl("uncordon", ...fakes);
    await kubectl("cordon", nodeName);
    const moving = await deploy(2, { pages: 4, apis: 0, stores: 0, caches: 0 });
    await addsUp();
    assert.deepEqual(problemsOf(kept), []);
    t.diagnostic("deployed, with the real machine cordoned");

    const [first = "", second = ""] = fakes;
    await kubectl("drain", first, "--ignore-daemonsets", "--delete-emptydir-data", "--force");
    await healthy(moving);
    await addsUp();
    const homes = (await podsOf(moving)).filter(({ metadata }) => !metadata.deletionTimestamp).map(nodeOf);
    assert.deepEqual(new Set(homes), new Set([second]));
    await kubectl("uncordon", first);
    await addsUp();
    t.diagnostic("drained and brought back");

    const before = (await podsOf(moving)).map(({ metadata }) => metadata.uid);
    await kubectl("annotate", "node", second, `${fakeNode.key}-`);
    await eventually("the node to be lost", () => problemsOf(moving).includes("NodeLost"), settleWithinMs);
    await addsUp();
    assert.equal(life.keeper.book.room.node(second), undefined);
    await kubectl("annotate", "node", second, `${fakeNode.key}=${fakeNode.value}`);
    await eventually("it to be offered again", () => life.keeper.book.room.node(second), settleWithinMs);
    await addsUp();
    assert.deepEqual(
      (await podsOf(moving)).map(({ metadata }) => metadata.uid),
      before,
    );
    t.diagnostic("lost and brought back");

    const [victim] = await podsOf(moving);
    assert.ok(victim);
    const message = "The node was low on resource: memory. ";
    const path = `/api/v1/namespaces/${leaseNamespace(moving)}/pods/${victim.metadata.name}/status`;
    const evicted = {
      ...victim,
      status: { ...(victim["status"] as object), phase: "Failed", reason: "Evicted", message },
    };
    assert.equal((await callApi(path, "PUT", evicted)).status, 200);
    const successor = async () => (await podsOf(moving)).length === 5;
    await eventually("its successor", successor, settleWithinMs);
    await addsUp();
    t.diagnostic("evicted and replaced");

    await kubectl("delete", "pod", "-n", leaseNamespace(kept), "store-0");
    await eventually("the volume to be missed", () => problemsOf(kept).includes("VolumeNotBound"), settleWithinMs);
    await addsUp();
    t.diagnostic(`a volume that cannot move: ${JSON.stringify(life.health.get(formatLeaseId(kept))?.troubles)}`);
    await life.stop();
    await start();
    await addsUp();
    await kubectl("uncordon", nodeName);
    await healthy(kept);
    await addsUp();
    for (const lease of leases) assert.ok(await admin.get(kinds.namespace, { name: leaseNamespace(lease) }));
  });
});
