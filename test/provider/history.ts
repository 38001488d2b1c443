/**
 * A whole history of a lease: order, bid, lease, manifest, pods, an update of one service, close, nothing left. The
 * provider ends at one boundary on the way and starts again on the same journal. One seed is one history.
 */
import type { Block } from "../../src/box/chain/node/block-store.ts";
import type { Queries } from "../../src/chain/chain.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";
import type { Intent } from "../../src/journal/intents.ts";
import { openJournal } from "../../src/journal/open.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import type { Coin } from "../../src/market/coin.ts";
import { formatLeaseId, formatOrderId, type LeaseId } from "../../src/market/ids.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type Snapshot, snapshotOf } from "../support/cluster-snapshot.ts";
import { createCountingBoundary, SimulatedCrash } from "../support/counting-boundary.ts";
import { createTenant, imageOf, type Tenant } from "../support/lease-tenant.ts";
import { images, shop } from "../support/samples/lease-sdl.ts";
import { type LeaseStage, onLeaseStage } from "../support/stages/lease-stage.ts";

export interface HistoryOptions {
  readonly seed: number;
  /** The boundary at which the provider ends, counted from 1; 0 for none. */
  readonly crashAt: number;
  readonly dir: string;
}

/** What is left of a history, read from the outside once it is over. */
export interface History {
  readonly provider: Signer;
  readonly tenant: Signer;
  readonly lease: LeaseId;
  /** What each had before, by address; and all blocks since. */
  readonly purses: Readonly<Record<string, readonly Coin[]>>;
  readonly blocks: readonly Block[];
  readonly queries: Queries;
  /** How the cluster looked when it had come to rest. */
  readonly scenes: Readonly<Record<"before" | "deployed" | "updated" | "closed", Snapshot>>;
  /** Pods that ever ran the service that was not updated. */
  readonly storePods: number;
  readonly intents: readonly Intent[];
  readonly journal: JournalLeft;
  /** Boundaries that the first life of the provider crossed. */
  readonly crossings: readonly string[];
  readonly crashed: boolean;
}

interface JournalLeft {
  /** Orders for which capacity is still spoken for. */
  readonly reservations: readonly string[];
  readonly manifests: readonly string[];
  readonly deadlines: number;
  /** What an operator reads back about the lease. */
  readonly lines: readonly string[];
}

/** Plays the history and hands what is left of it to `check`, while its world still stands. */
export async function playHistory(options: HistoryOptions, check: (history: History) => Promise<void>): Promise<void> {
  const { seed, crashAt, dir } = options;
  await onLeaseStage({ seed, dir, blockMs: 500 + ((seed * 977) % 2_500) }, (stage) => play(stage, crashAt, check));
}

async function play(stage: LeaseStage, crashAt: number, check: (history: History) => Promise<void>): Promise<void> {
  const { node, clock, queries, random, provider, dir } = stage;
  const people = [provider.address, stage.tenant.address];
  const purses = Object.fromEntries(
    await Promise.all(people.map(async (address) => [address, (await queries.balances(address)).items] as const)),
  );
  const blocks: Block[] = [];
  node.onBlock((block) => void blocks.push(block));
  const storePods = countStorePods(stage);
  const crash = Promise.withResolvers<void>();
  const boundary = createCountingBoundary(crashAt, (at) => {
    crash.resolve();
    throw new SimulatedCrash(at);
  });
  const tenant = createTenant(stage, 7n);
  const first = stage.start({ boundary });
  const telling = tellStory(stage, tenant);
  telling.catch(() => undefined);
  await Promise.race([crash.promise, telling, first.ended]);
  if (boundary.crashed) {
    // Whatever a provider says that ends in a crash does not matter: nobody would hear it.
    await first.stop().catch(() => undefined);
    await sleep(clock, [0, 2_000, 30_000][random.int(3)] ?? 0);
    const second = stage.start();
    await Promise.race([telling, second.ended]);
  }
  const scenes = await telling;
  const isOver = !boundary.crashed;
  await stage.life?.stop().catch((thrown: unknown) => {
    // The story may be over before the boundary comes, which is then one of the end itself.
    if (!(isOver && boundary.crashed)) throw thrown;
  });

  const { journal } = await openJournal({ dir, clock, log: silentLog });
  const { read } = journal;
  const subjects = [provider.address, formatOrderId(tenant.lease), formatLeaseId(tenant.lease)];
  await check({
    ...{ provider, tenant: stage.tenant, lease: tenant.lease, purses, blocks, queries, scenes },
    storePods: storePods.size,
    intents: subjects.flatMap((subject) => read.intents.about(subject)),
    journal: {
      reservations: read.reservations.all().map(({ orderId }) => orderId),
      manifests: read.manifests.leaseIds(),
      deadlines: journal.rows().deadlines,
      lines: read.history.about(formatLeaseId(tenant.lease), 100).map(({ line }) => line),
    },
    crossings: boundary.crossings,
    crashed: boundary.crashed,
  });
  await journal.close();
}

/** The tenant's side, with a look at the cluster whenever it has come to rest. */
async function tellStory(stage: LeaseStage, tenant: Tenant): Promise<History["scenes"]> {
  const { clock, random, cluster } = stage;
  const pause = () => sleep(clock, random.int(6_000));
  const scene = async () => {
    await stage.atRest();
    const isGoing = ({ metadata }: KubeObject) => metadata.deletionTimestamp !== undefined;
    await stage.until("old pods are gone", () => !cluster.server.list(kinds.pod).some(isGoing));
    return snapshotOf(cluster);
  };
  const before = snapshotOf(cluster);
  await pause();
  await tenant.deploy(shop({ extras: true }));
  const deployed = await scene();
  await pause();
  await tenant.update(shop({ page: images.newPage }));
  const updated = await scene();
  await pause();
  await tenant.close();
  await tenant.isGone();
  return { before, deployed, updated, closed: await scene() };
}

function countStorePods({ cluster }: LeaseStage): ReadonlySet<string> {
  const uids = new Set<string>();
  cluster.server.subscribe(({ kind, object }) => {
    if (kind.kind === "Pod" && imageOf(object) === images.store) uids.add(object.metadata.uid ?? "");
  });
  return uids;
}
