/** Follows an inventory operator in the same process, without a connection. */
import { Cluster } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { endedBy } from "../../../runtime/ended-by.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import type { Log } from "../../../runtime/log.ts";
import { type ClusterSnapshot, createNewestSnapshot, feedProofMs, type InventoryFeed } from "./feed.ts";
import { createClusterReader } from "./read-cluster.ts";

/** What the feed needs of the operator; its publisher is one. */
export interface SnapshotSource {
  /** The last one that listeners were notified of, as soon as it is another than this one. */
  next(after: SourceSnapshot | undefined, signal: AbortSignal): Promise<SourceSnapshot>;
  /** The newest one, also if listeners were not notified because nothing that they see has changed. Throws until there is one. */
  snapshot(): SourceSnapshot;
  /** Since it heard of the cluster. */
  readonly ageMs: number;
  /** The same of persistent volumes. */
  readonly volumesAgeMs: number;
}

interface SourceSnapshot {
  readonly network: Pick<Cluster, "nodes" | "storage">;
  readonly inventory: Partial<Pick<ClusterSnapshot, "podsVersion" | "volumesVersion" | "defaultClass">>;
}

interface MemoryFeedDeps {
  /** Resolves once the operator has started. */
  readonly source: Promise<SnapshotSource>;
  readonly clock: Clock;
  readonly log: Log;
}

export function createMemoryFeed({ source, clock, log }: MemoryFeedDeps): InventoryFeed {
  const readCluster = createClusterReader();
  let opened: SnapshotSource | undefined;
  let shown: SourceSnapshot | undefined;
  const newest = createNewestSnapshot(clock, log, () => {
    const { ageMs = 0, volumesAgeMs = 0 } = opened ?? {};
    return { silentMs: 0, ownAgeMs: ageMs, volumesAgeMs };
  });

  function show(snapshot: SourceSnapshot): void {
    if (snapshot === shown) return;
    shown = snapshot;
    const message = Cluster.encode(Cluster.fromPartial(snapshot.network)).finish();
    const { podsVersion, volumesVersion, defaultClass } = snapshot.inventory;
    const versions = { podsVersion, volumesVersion, defaultClass };
    newest.show({ ...readCluster(message), ...versions, network: () => message, cameAtMs: clock.monotonicMs() });
  }

  async function followChanges(from: SnapshotSource, signal: AbortSignal): Promise<never> {
    for (let last: SourceSnapshot | undefined; ; show(last)) last = await from.next(last, signal);
  }

  async function poll(from: SnapshotSource, signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(clock, feedProofMs, signal);
      read(from);
    }
  }

  function read(from: SnapshotSource): void {
    try {
      show(from.snapshot());
      newest.counts.proofs += 1;
    } catch (thrown) {
      newest.failed(reasonOf(thrown));
    }
  }

  return Object.assign(newest, {
    async run(signal: AbortSignal): Promise<void> {
      try {
        const from = await endedBy(source, signal);
        opened = from;
        await Promise.all([followChanges(from, signal), poll(from, signal)]);
      } catch (thrown) {
        if (!signal.aborted) throw thrown;
      }
    },
    ask() {
      if (opened) read(opened);
    },
    // In the same process every change is notified at once.
    wake: () => undefined,
  });
}
