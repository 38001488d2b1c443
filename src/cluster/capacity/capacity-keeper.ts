/** Keeps what is promised together with what there is: the book, and all that changes it. */
import type { Chain, MirrorKey } from "../../chain/chain.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube, WatchCache } from "../../kube/kube.ts";
import type { Overcommit } from "../../market/fit.ts";
import type { ResourceUnit } from "../../market/group-spec.ts";
import { bidOn, formatOrderId, orderOf, parseBidId, parseOrderId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import type { Queue } from "../../runtime/queue.ts";
import { type AddressPool, createAddressPool } from "./addresses/address-pool.ts";
import type { IpOperatorClient } from "./addresses/ip-operator.ts";
import type { AddressSharing } from "./addresses/lease-addresses.ts";
import { feedOldMs, type InventoryFeed } from "./inventory/feed.ts";
import { place } from "./placement/place.ts";
import { reservationSettleMs } from "./reservations/accounting.ts";
import { type Book, createBook } from "./reservations/book.ts";
import {
  createLeaseClaims,
  createLeasePods,
  type LeaseClaims,
  type LeasePod,
  type LeasePods,
} from "./reservations/lease-watches.ts";
import { readBody } from "./reservations/reservation.ts";
import { createAddressBook, createReservations } from "./reservations/reservations.ts";
import { createUpkeep, resettle } from "./reservations/upkeep.ts";

/** A pod bound this long ago, by the cluster's clock, is in every picture; no clock that works is off by more. */
export const reservationLongBoundMs = 2 * minute;

interface KeeperDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider" | "onStep">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly kube: Pick<Kube, "watch">;
  readonly inventory: InventoryFeed;
  readonly ipOperator: IpOperatorClient | undefined;
  readonly addressSharing?: AddressSharing | undefined;
  readonly overcommit: Overcommit;
  readonly clock: Clock;
  readonly log: Log;
}

export type CapacityKeeper = ReturnType<typeof createCapacityKeeper>;

export function createCapacityKeeper(deps: KeeperDeps) {
  const { chain, kube, inventory, clock } = deps;
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
  const usable: Pick<InventoryFeed, "ageMs" | "error"> = {
    get ageMs() {
      return inventory.ageMs;
    },
    get error() {
      return inventory.error ?? unheardOf("pods", pods.cache) ?? unheardOf("volume claims", claims.cache);
    },
  };
  const onReserved = (orderId: string) => void queue?.add(orderId, "low");
  const reservations = createReservations({ ...deps, book, addresses, place: placeNow, inventory: usable, onReserved });
  const upkeep = createUpkeep({ ...deps, book, reservations, settle });

  /** Moves what it can from where it cannot stay; where to is written down. */
  function settle(): void {
    if (!book.snapshot) return;
    const { moved, hasMore } = resettle(book, placeNow);
    for (const { orderId } of moved) wake(orderId);
    // In their own turn, and as long as that helps any.
    if (hasMore && moved.length > 0) clock.timer(0, settle);
  }

  /** Has the reservation of an order looked at and, where there is one, written down again. */
  function wake(orderId: string): void {
    upkeep.unsaved.add(orderId);
    queue?.add(orderId);
  }

  // Before all who would sell it.
  reservations.capacity.onRoom(settle);
  const listing = followObjects(pods, claims, clock, book, { settle, changed: reservations.changed });

  function showPicture(): void {
    const { snapshot: newest, ageMs = 0, volumesAgeMs = 0 } = inventory;
    if (!newest) return;
    const nowMs = clock.monotonicMs();
    book.show({ snapshot: newest, trueAtMs: { pod: nowMs - ageMs, volume: nowMs - volumesAgeMs } });
    reservations.room();
  }

  return {
    ...{ capacity: reservations.capacity, inventory: usable, book, addresses, pool, pods, claims, reservations },
    look: upkeep.look,
    wake,
    onChange: reservations.onChange,
    /** Leases of ours that run. */
    get leases(): number {
      return Array.from(chain.mirror.leases()).filter(runs).length;
    },

    /** Reads what is there, and follows what changes it. */
    async open(scope: Scope, keys: Queue): Promise<void> {
      queue = keys;
      readReservations(deps, book);
      // Until it is known what runs, all of it would be counted twice.
      await Promise.all([pods.open(scope), claims.open(scope)]);
      listing.end();
      inventory.onSnapshot(showPicture);
      showPicture();
      scope.task("inventory", inventory.run);
      scope.task("awaited pictures", (signal) => askForCounted(deps, book, showPicture, signal));
      pool.onAnswer(() => {
        addresses.confirm();
        reservations.room();
      });
      scope.task("addresses", pool.run);
      chain.onStep(({ changed }) => {
        for (const key of changed) if (isOurs(key)) keys.add(formatOrderId(orderOf(parseBidId(key.key))));
      });
      upkeep.adoptBids();
      for (const { id } of chain.mirror.leases()) keys.add(formatOrderId(id));
      for (const orderId of book.keys()) keys.add(orderId);
    },
  };
}

/** A pod that went unseen is in no snapshot any more, and what it stood for would be sold again. */
function unheardOf(what: string, { ageMs = 0, error: trouble }: Partial<WatchCache<unknown>> = {}): string | undefined {
  if (ageMs <= feedOldMs) return undefined;
  const because = trouble ? `: ${reasonOf(trouble)}` : "";
  return `the ${what} of our leases have not been heard of for ${Math.floor(ageMs / 1_000)} s${because}`;
}

/** A row that makes no sense is made again from the chain, where that has what it was for. */
function readReservations({ journal, log }: Pick<KeeperDeps, "journal" | "log">, book: Book): void {
  for (const { orderId, body } of journal.read.reservations.all()) {
    const reservation = readBody(orderId, body);
    if (reservation) book.add(reservation);
    else log.error("unreadable reservation left out", { order: orderId });
  }
}

/** Keeps the book informed of pods and volumes of leases. */
function followObjects(
  pods: LeasePods,
  claims: LeaseClaims,
  clock: Clock,
  book: Book,
  { settle, changed }: Record<"settle" | "changed", () => void>,
) {
  let isListing = true;

  /**
   * When its binding was news. At a start most were bound long ago, and every snapshot has those. Later it is news when it
   * is heard of, whatever our machine has for the time of day.
   */
  function newsAtMs({ boundAtMs = clock.now() }: LeasePod): number {
    const agoMs = isListing ? clock.now() - boundAtMs : 0;
    return clock.monotonicMs() - (agoMs > reservationLongBoundMs ? agoMs : 0);
  }

  pods.onChange(({ type, value }) => {
    if (type === "deleted") book.podGone(value);
    else book.pod(value, newsAtMs(value));
    // What it leaves may be a node that is not for sale, as one that is drained, and no snapshot tells of that.
    settle();
    changed();
  });
  claims.onChange(({ type, value }) => {
    if (type === "deleted") book.claimGone(value);
    else book.claim(value, clock.monotonicMs());
    changed();
  });
  return {
    /** All that was there is known. */
    end(): void {
      isListing = false;
    },
  };
}

/**
 * What came where as much went leaves the snapshot as it was, and nobody is told of it; and one that nothing has changed is
 * true for longer than when it came.
 */
async function askForCounted(
  { clock, inventory }: Pick<KeeperDeps, "clock" | "inventory">,
  book: Book,
  showPicture: () => void,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    await sleep(clock, reservationSettleMs, signal);
    if (book.awaited === 0) continue;
    inventory.ask();
    showPicture();
  }
}

/** The mirror holds no bids and leases but ours. */
function isOurs({ kind }: MirrorKey): boolean {
  return kind === "bid" || kind === "lease";
}
