/** Follows an inventory operator in the same process: the same pictures, without the wire between. */
import { Cluster, type Node, type Storage } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { type ClusterSnapshot, createNewestSnapshot, type InventoryFeed, type SnapshotNode } from "./feed.ts";
import { attempt, contentOf, type Read, readClass, readNode } from "./read-cluster.ts";

/** A stream is silent while nothing changes; so often it is asked for whether anybody is there. */
export const feedProofMs = minute;

/** What the feed needs of the operator; its publisher is one. */
export interface SnapshotSource {
  /** What listeners were told last, as soon as it is another than this one. */
  next(after: SourcePicture | undefined, signal: AbortSignal): Promise<SourcePicture>;
  /** The newest one, which listeners may not have been told: nothing that they see has changed. Throws until there is one. */
  snapshot(): SourcePicture;
  /** How long ago it heard of the cluster. */
  readonly ageMs: number;
  /** The same of persistent volumes. */
  readonly volumesAgeMs: number;
}

/** A node that stayed as it was is the same object as in the picture before. */
interface SourcePicture {
  readonly network: { readonly nodes: readonly Node[]; readonly storage: readonly Storage[] };
  readonly inventory: Partial<Pick<ClusterSnapshot, "podsVersion" | "volumesVersion" | "defaultClass">>;
}

interface MemoryFeedDeps {
  /** Kept once the operator has started. */
  readonly source: Promise<SnapshotSource>;
  readonly clock: Clock;
  readonly log: Log;
}

export function createMemoryFeed({ source, clock, log }: MemoryFeedDeps): InventoryFeed {
  const known = new WeakMap<Node, Read<SnapshotNode>>();
  let opened: SnapshotSource | undefined;
  let shown: SourcePicture | undefined;
  const newest = createNewestSnapshot(clock, log, () => {
    const { ageMs = 0, volumesAgeMs = 0 } = opened ?? {};
    return { silentMs: 0, ownAgeMs: ageMs, volumesAgeMs };
  });

  function readOnce(node: Node): Read<SnapshotNode> {
    const read = known.get(node) ?? attempt(() => readNode(node));
    known.set(node, read);
    return read;
  }

  function show(picture: SourcePicture): void {
    shown = picture;
    const { nodes, storage } = picture.network;
    const { podsVersion, volumesVersion, defaultClass } = picture.inventory;
    const content = contentOf(
      nodes.map((node) => ({ name: node.name, read: readOnce(node) })),
      storage.map((each) => attempt(() => readClass(each))),
    );
    newest.show({
      ...content,
      network: () => Cluster.encode({ nodes: [...nodes], storage: [...storage] }).finish(),
      ...{ podsVersion, volumesVersion, defaultClass },
      cameAtMs: clock.monotonicMs(),
    });
  }

  async function followChanges(from: SnapshotSource, signal: AbortSignal): Promise<never> {
    for (let told: SourcePicture | undefined; ; ) {
      told = await from.next(told, signal);
      // It may have been asked for already.
      if (told !== shown) show(told);
    }
  }

  /** Also brings what changes nothing but how new the picture is. */
  async function lookNowAndThen(from: SnapshotSource, signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(clock, feedProofMs, signal);
      look(from);
    }
  }

  function look(from: SnapshotSource): void {
    try {
      const picture = from.snapshot();
      if (picture !== shown) show(picture);
      newest.counts.proofs += 1;
    } catch (thrown) {
      newest.failed(reasonOf(thrown));
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    try {
      const from = await endedBy(source, signal);
      opened = from;
      await Promise.all([followChanges(from, signal), lookNowAndThen(from, signal)]);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  return Object.assign(newest, {
    run,
    ask() {
      if (opened) look(opened);
    },
    // In the same process it is told of each change before the bus is.
    wake: () => undefined,
  });
}
