/** A process that ends at any write of a lease's life leaves what the next one brings to the same end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import type { Manifest } from "../../src/market/manifest.ts";
import type { Boundary } from "../../src/runtime/boundary.ts";
import { type CountingBoundary, createCountingBoundary } from "../support/counting-boundary.ts";
import { playCrashes } from "../support/crash-points.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner } from "../support/owner.ts";
import { type Life, leaseStage, shop } from "../support/stages/lease-keeper-stage.ts";

interface Story {
  /** Every object after the update, without what the server or chance gives it. */
  readonly objects: readonly string[];
  readonly left: number;
  readonly rows: number;
  /** Whether the pod of the service that was not updated stayed. */
  readonly stayed: boolean;
}

const first = shop({ credentials: true, permissions: true });
const second = shop({ page: "page:2", permissions: true });

/** Deploy, update and close, by a process that ends at this boundary and another one that goes on. */
async function tell(boundary: CountingBoundary): Promise<Story> {
  await using owner = createOwner();
  const dir = memoryFolder(owner);
  const stage = await leaseStage(owner, { dir });
  const { cluster, until } = stage;
  const lease = stage.won(1, first);
  const key = formatLeaseId(lease);
  // How a journal is opened is tried elsewhere.
  let isOpen = false;
  const opened: Boundary = { cross: (kind, point) => isOpen && boundary.cross(kind, point) };
  let life = await stage.start({ boundary: opened });
  isOpen = true;
  let isRevived = false;

  async function revive(): Promise<void> {
    if (!boundary.crashed || isRevived) return;
    isRevived = true;
    await life.stop();
    life = await stage.start();
  }

  const comesTo = (what: string, isSo: (life: Life) => boolean) =>
    until(`${what}, after a crash at ${boundary.crossings.at(-1)}`, async () => {
      await revive();
      return isSo(life);
    });

  /** Until it is taken, as a tenant would. */
  async function send(manifest: Manifest): Promise<void> {
    const isTaken = () =>
      life.send(lease, manifest).then(
        () => true,
        () => false,
      );
    while (!(await isTaken())) await revive();
  }

  const isDeployed = (version: string) => (now: Life) =>
    now.journal.read.manifests.get(key)?.deployed?.version === version && now.state(lease) === "deployed";

  await send(first.manifest);
  await comesTo("deployed", (now) => now.state(lease) === "deployed");
  await comesTo("its pods", () => stage.pods(lease).length === 2);
  const uidOf = () => stage.pods(lease).find(({ metadata }) => metadata.name === "store-0")?.metadata.uid;
  const uid = uidOf();
  await send(second.manifest);
  const version = life.journal.read.manifests.get(key)?.version ?? "";
  await comesTo("updated", isDeployed(version));
  await comesTo("rolled", () => stage.pods(lease).length === 2 && !objects().some((text) => text.includes("page:1")));
  const told = { objects: objects(), stayed: uid !== undefined && uidOf() === uid };
  stage.becomes(lease, "closed");
  await comesTo("gone", (now) => now.state(lease) === undefined && now.journal.read.manifests.get(key) === undefined);
  await life.step(lease);
  await comesTo("all gone", () => left() === 0);
  return { ...told, left: left(), rows: life.journal.read.manifests.leaseIds().length };

  function objects(): string[] {
    return [...stage.objects(lease)].map(([name, { spec, data, metadata, rules, subjects }]) =>
      JSON.stringify({ name, labels: metadata.labels, spec: withoutChance(spec), data, rules, subjects }),
    );
  }

  function left(): number {
    const all = [kinds.namespace, kinds.manifest, kinds.providerHost, kinds.pod];
    return all.flatMap((kind) => [...cluster.server.list(kind, { labelSelector: "akash.network=true" })]).length;
  }
}

/** Addresses and volumes are given by chance. */
function withoutChance(spec: unknown): unknown {
  const { clusterIP: _, clusterIPs: __, volumeName: ___, ...rest } = (spec ?? {}) as Record<string, unknown>;
  return rest;
}

test("a crash at any write of deploy, update and teardown comes to the same end", async (t) => {
  await playCrashes(t, "lease-crash", {
    sample: { every: 9 },
    async whole() {
      const boundary = createCountingBoundary();
      const story = await tell(boundary);
      assert.deepEqual([story.left, story.rows, story.stayed], [0, 0, true]);
      return { story, crossings: boundary.crossings };
    },
    async crash({ crashAt }, whole) {
      const boundary = createCountingBoundary(crashAt);
      assert.deepEqual(await tell(boundary), whole.story);
      assert.ok(boundary.crashed);
    },
  });
});
