/** Capacity of the cluster: the book of reservations, and everything that changes it. */
import type { Chain } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube, WatchCache } from "../../kube/kube.ts";
import type { Overcommit } from "../../market/fit.ts";
import type { ResourceUnit } from "../../market/group-spec.ts";
import { bidOn, formatOrderId, orderOf, parseBidId, parseOrderId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Queue } from "../../runtime/queue.ts";
import { type AddressPool, createAddressPool } from "./addresses/address-pool.ts";
import type { IpOperatorClient } from "./addresses/ip-operator.ts";
import type { AddressSharing } from "./addresses/lease-addresses.ts";
import { feedOldMs, type InventoryFeed } from "./inventory/feed.ts";
import { place } from "./placement/place.ts";
import { reservationSettleMs } from "./reservations/accounting.ts";
import { type Book, createBook } from "./reservations/book.ts";
import { createLeaseClaims, createLeasePods, type LeasePod } from "./reservations/lease-watches.ts";
import { readBody } from "./reservations/reservation.ts";
import { createAddressBook, createReservations } from "./reservations/reservations.ts";
import { createUpkeep, resettle } from "./reservations/upkeep.ts";

/** A pod bound this long ago, by the cluster's clock, is in every snapshot, also if our clock is off by less. */
export const reservationLongBoundMs = 2 * minute;

interface KeeperDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly kube: Pick<Kube, "watch">;
  readonly inventory: InventoryFeed;
  readonly ipOperator: IpOperatorClient | undefined;
  readonly addressSharing?: AddressSharing | undefined;
  readonly overcommit: Overcommit;
}

export type CapacityKeeper = ReturnType<typeof createCapacityKeeper>;

export function createCapacityKeeper(deps: KeeperDeps) {
  const { chain, kube, inventory: feed, clock } = deps;
  const idOf = (orderId: string) => bidOn(parseOrderId(orderId), chain.provider);
  const book = createBook((orderId) => leaseNamespace(idOf(orderId)));
  const addresses = createAddressBook({
    book,
    pool: () => pool,
    sharing: deps.addressSharing ?? "endpoint",
    isLeased: (orderId) => runs(chain.mirror.lease(idOf(orderId))),
    monotonicMs: () => clock.monotonicMs(),
  });
  const { leased } = addresses;
  const pool: AddressPool = createAddressPool({ ...deps, operator: deps.ipOperator, leased, provider: chain.provider });
  const placeNow = (units: readonly ResourceUnit[]) => place(book.room, units, deps);
  const pods = createLeasePods(kube);
  const claims = createLeaseClaims(kube);
  let queue: Queue | undefined;
  const inventory = {
    get ageMs() {
      return feed.ageMs;
    },
    get error() {
      return feed.error ?? silenceOf("pods", pods.cache) ?? silenceOf("volume claims", claims.cache);
    },
  };
  const onReserved = (orderId: string) => void queue?.add(orderId, "low");
  const reservations = createReservations({ ...deps, book, addresses, place: placeNow, inventory, onReserved });
  const upkeep = createUpkeep({ ...deps, book, reservations, settle });

  /** Moves replicas from nodes where they cannot stay. */
  function settle(): void {
    if (!book.snapshot) return;
    const { moved, hasMore } = resettle(book, placeNow);
    for (const { orderId } of moved) wake(orderId);
    // In another turn of the event loop.
    if (hasMore && moved.length > 0) clock.timer(0, settle);
  }

  /** Reconciles the reservation of an order and writes it down. */
  function wake(orderId: string): void {
    upkeep.unsaved.add(orderId);
    queue?.add(orderId);
  }

  function showSnapshot(): void {
    const { snapshot, ageMs = 0, volumesAgeMs = 0 } = feed;
    if (!snapshot) return;
    const nowMs = clock.monotonicMs();
    book.show({ snapshot, trueAtMs: { pod: nowMs - ageMs, volume: nowMs - volumesAgeMs } });
    reservations.room();
  }

  // First: room goes to displaced replicas before new ones.
  reservations.capacity.onRoom(settle);
  const listing = followObjects({ pods, claims, book, clock, settle, changed: reservations.changed });

  return {
    ...{ capacity: reservations.capacity, inventory, book, addresses, pool, pods, claims, reservations },
    look: upkeep.look,
    wake,
    onChange: reservations.onChange,
    /** The number of our running leases. */
    get leases(): number {
      return Array.from(chain.mirror.leases()).filter(runs).length;
    },

    /** Reads what is there, and follows what changes it. */
    async open(scope: Scope, keys: Queue): Promise<void> {
      queue = keys;
      readReservations(deps, book);
      // Before the pods are known, all of them would be counted twice.
      await Promise.all([pods.open(scope), claims.open(scope)]);
      listing.end();
      feed.onSnapshot(showSnapshot);
      showSnapshot();
      scope.task("inventory", feed.run);
      scope.task("awaited snapshots", (signal) => pollForAwaited(deps, book, showSnapshot, signal));
      pool.onAnswer(() => {
        addresses.confirm();
        reservations.room();
      });
      scope.task("addresses", pool.run);
      chain.onStep(({ changed }) => {
        // The mirror holds only our bids and leases.
        const ours = changed.filter(({ kind }) => kind === "bid" || kind === "lease");
        for (const { key } of ours) keys.add(formatOrderId(orderOf(parseBidId(key))));
      });
      upkeep.adoptBids();
      for (const { id } of chain.mirror.leases()) keys.add(formatOrderId(id));
      for (const orderId of book.keys()) keys.add(orderId);
    },
  };
}

/** Why the cache is outdated: a pod that went unseen is in no snapshot any more, and would be sold again. */
function silenceOf(what: string, { ageMs = 0, error }: Partial<WatchCache<unknown>> = {}): string | undefined {
  if (ageMs <= feedOldMs) return undefined;
  const because = error ? `: ${reasonOf(error)}` : "";
  return `the ${what} of our leases have not been heard of for ${Math.floor(ageMs / 1_000)} s${because}`;
}

/** A row that is invalid is made again from the chain, where that has the bid or lease. */
function readReservations({ journal, log }: Pick<KeeperDeps, "journal" | "log">, book: Book): void {
  for (const { orderId, body } of journal.read.reservations.all()) {
    const reservation = readBody(orderId, body);
    if (reservation) book.add(reservation);
    else log.error("unreadable reservation left out", { order: orderId });
  }
}

/** A snapshot in which nothing else changed is not notified, and stays current for longer than when it arrived. */
async function pollForAwaited(
  { clock, inventory }: Pick<KeeperDeps, "clock" | "inventory">,
  book: Book,
  showSnapshot: () => void,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    await sleep(clock, reservationSettleMs, signal);
    if (book.awaited === 0) continue;
    inventory.ask();
    showSnapshot();
  }
}

interface FollowedObjects {
  readonly pods: ReturnType<typeof createLeasePods>;
  readonly claims: ReturnType<typeof createLeaseClaims>;
  readonly book: Book;
  readonly clock: Clock;
  readonly settle: () => void;
  readonly changed: () => void;
}

/** Keeps the book informed of pods and volume claims. */
function followObjects({ pods, claims, book, clock, settle, changed }: FollowedObjects) {
  let isListing = true;

  /**
   * The binding of a pod by the monotonic clock: now, whatever our wall clock says. Only of pods listed at the start that were
   * bound long ago, which every snapshot has, it is earlier.
   */
  function seenAtMs({ boundAtMs = clock.now() }: LeasePod): number {
    const agoMs = isListing ? clock.now() - boundAtMs : 0;
    return clock.monotonicMs() - (agoMs > reservationLongBoundMs ? agoMs : 0);
  }

  pods.onChange(({ type, value }) => {
    if (type === "deleted") book.podGone(value);
    else book.pod(value, seenAtMs(value));
    // It may leave a node that is not for sale, which no snapshot reports.
    settle();
    changed();
  });
  claims.onChange(({ type, value }) => {
    if (type === "deleted") book.claimGone(value);
    else book.claim(value, clock.monotonicMs());
    changed();
  });
  return {
    end(): void {
      isListing = false;
    },
  };
}
