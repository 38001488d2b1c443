/** What others may do with the book of reservations: ask whether a group fits, take what it needs, give it back. */
import { isDeepStrictEqual } from "node:util";
import type { Journal } from "../../../journal/journal.ts";
import type { Tables } from "../../../journal/tables.ts";
import type { Fit, Fits, Overcommit, PlacementFailure } from "../../../market/fit.ts";
import type { GroupSpec, ResourceUnit } from "../../../market/group-spec.ts";
import { leasedAddressesOf } from "../../../market/group-totals.ts";
import type { Clock } from "../../../runtime/clock.ts";
import type { Log } from "../../../runtime/log.ts";
import { createHistogram, networkDurationBounds } from "../../../runtime/metrics.ts";
import type { AddressPool } from "../addresses/address-pool.ts";
import type { AddressSharing } from "../addresses/lease-addresses.ts";
import type { InventoryFeed } from "../inventory/feed.ts";
import { reservationSettleMs } from "./accounting.ts";
import type { Book } from "./book.ts";
import { type Reservation, reservationBody, reservationOf } from "./reservation.ts";

/** The seeds' `has` is `fit`: the same placement, and nothing is taken. Each service declares what it needs of it. */
export type ClusterCapacity = Reservations["capacity"];

type ReserveRequest = Pick<Reservation, "orderId" | "offer" | "expiresAtMs"> & { readonly group: GroupSpec };

interface ReservationsDeps {
  readonly book: Book;
  readonly addresses: AddressBook;
  readonly place: (units: readonly ResourceUnit[]) => Fit;
  readonly overcommit: Overcommit;
  readonly inventory: Pick<InventoryFeed, "ageMs" | "error">;
  readonly journal: Pick<Journal, "durable">;
  /** There is one now, whose time will come. */
  readonly onReserved: (orderId: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export type Reservations = ReturnType<typeof createReservations>;

export function createReservations(deps: ReservationsDeps) {
  const { book, addresses, place, overcommit, inventory, journal, onReserved, clock, log } = deps;
  const roomListeners: (() => void)[] = [];
  const expiredListeners: ((orderId: string) => void)[] = [];
  const changeListeners: (() => void)[] = [];
  const counts = { created: 0, refused: 0, fitting: 0, misfitting: 0, released: 0, releasedNothing: 0 };
  const durations = createHistogram(networkDurationBounds);

  function changed(): void {
    for (const tell of changeListeners) tell();
  }

  function room(): void {
    for (const tell of roomListeners) tell();
    changed();
  }

  function fit(group: GroupSpec): Fit {
    const found = inventory.error === undefined ? place(group.units) : misfit(inventory.error);
    counts[found.fits ? "fitting" : "misfitting"] += 1;
    return found;
  }

  function reserve(request: ReserveRequest): ReturnType<typeof take> {
    const startedMs = clock.monotonicMs();
    const reserved = take(request);
    durations.observe((clock.monotonicMs() - startedMs) * 1_000);
    counts[reserved.fits ? "created" : "refused"] += 1;
    return reserved;
  }

  function take({ orderId, group, offer, expiresAtMs }: ReserveRequest) {
    const before = book.get(orderId);
    if (before && (isDeepStrictEqual(before.offer, offer) || isCarried(before))) {
      before.expiresAtMs = expiresAtMs;
      return reservedOf(before, book);
    }
    if (before) book.remove(orderId);
    const found = findFor(deps, group, offer);
    if (!found.fits) {
      if (before) book.add(before);
      return found;
    }
    const reservation = reservationOf(orderId, { replicas: found.replicas, offer }, overcommit, expiresAtMs);
    book.add(reservation);
    onReserved(orderId);
    changed();
    return reservedOf(reservation, book);
  }

  async function release(orderId: string, why: string): Promise<void> {
    const reservation = book.remove(orderId);
    if (!reservation) {
      counts.releasedNothing += 1;
      return;
    }
    counts.released += 1;
    log.debug("reservation released", { order: orderId, why });
    room();
    // In the order of the units: one that was to write it down before this is undone by it.
    await journal.durable("release", ({ reservations }) => reservations.remove(orderId));
  }

  return {
    capacity: {
      inventory,
      fit,
      addressesFor: (group: GroupSpec) => addresses.answerFor(leasedAddressesOf(group.units)),
      reserve,
      release,
      sold: book.sold,
      reserved: () => book.keys(),
      onRoom: (listener: () => void) => void roomListeners.push(listener),
      onExpired: (listener: (orderId: string) => void) => void expiredListeners.push(listener),
    },
    /** Told of whatever changes what is free. */
    onChange: (listener: () => void) => void changeListeners.push(listener),
    changed,
    /** More may fit than before. */
    room,
    expired(orderId: string): void {
      for (const tell of expiredListeners) tell(orderId);
    },
    counts: counts as Readonly<typeof counts>,
    durations,
  };
}

function findFor({ inventory, addresses, place }: ReservationsDeps, group: GroupSpec, offer: Fits["offer"]): Fit {
  if (inventory.error !== undefined) return misfit(inventory.error);
  const answer = addresses.answerFor(leasedAddressesOf(offer));
  if (!answer.yes) return misfit(answer.reason);
  return place(group.units.map((unit, at) => ({ ...unit, ...offer[at] })));
}

function reservedOf({ orderId, offer, replicas }: Reservation, book: Book) {
  return {
    fits: true as const,
    offer,
    replicas: replicas.map(({ unit, onNode }) => ({ unit, node: onNode.claim.node })),
    /** Writes what became of it meanwhile: it may be on another node, or released. */
    write({ reservations }: Tables): void {
      const now = book.get(orderId);
      if (now) reservations.put({ orderId, body: reservationBody(now) });
    },
  };
}

function isCarried({ replicas }: Reservation): boolean {
  return replicas.some(({ onNode }) => onNode.carrier !== undefined);
}

function misfit(reason: string): PlacementFailure {
  return { fits: false, reason, shortages: [] };
}

export type AddressBook = ReturnType<typeof createAddressBook>;

interface AddressBookDeps {
  readonly book: Book;
  readonly pool: () => Pick<AddressPool, "usage" | "free" | "ageMs" | "error" | "confirmed">;
  readonly sharing: AddressSharing;
  /** Whether the order's lease runs, so that it may have its addresses. */
  readonly isLeased: (orderId: string) => boolean;
  readonly monotonicMs: () => number;
}

export function createAddressBook({ book, pool, sharing, isLeased, monotonicMs }: AddressBookDeps) {
  /** Since when a lease is known to have its addresses. */
  const confirmedAtMs = new WeakMap<Reservation, number>();

  /** By then the operator's count has them too: it is renewed with what happens in the cluster, and a little late. */
  function isInCount(reservation: Reservation): boolean {
    const atMs = confirmedAtMs.get(reservation);
    const { ageMs } = pool();
    return atMs !== undefined && ageMs !== undefined && monotonicMs() - ageMs >= atMs + reservationSettleMs;
  }

  /** All endpoints of an owner may be on one. */
  function needed(addresses: number): bigint {
    return sharing === "owner" && addresses > 1 ? 1n : BigInt(addresses);
  }

  function promised(): bigint {
    let sum = 0n;
    for (const reservation of book.withAddresses) if (!isInCount(reservation)) sum += needed(reservation.addresses);
    return sum;
  }

  function left(): bigint {
    const free = pool().free - promised();
    return free > 0n ? free : 0n;
  }

  return {
    /** Of the pool. */
    get total(): bigint {
      return pool().usage?.total ?? 0n;
    },
    get left(): bigint {
      return left();
    },
    /** The leases that should have theirs. */
    *leased(): Iterable<string> {
      for (const { orderId } of book.withAddresses) if (isLeased(orderId)) yield orderId;
    },
    /** The operator has answered. What a lease has lost again, as when somebody deletes its Service, is promised to it still. */
    confirm(): void {
      for (const reservation of book.withAddresses) {
        const confirmed = pool().confirmed(reservation.orderId);
        if (confirmed === undefined) continue;
        if (confirmed < needed(reservation.addresses)) confirmedAtMs.delete(reservation);
        else if (!confirmedAtMs.has(reservation)) confirmedAtMs.set(reservation, monotonicMs());
      }
    },
    answerFor(addresses: number) {
      if (addresses === 0) return { yes: true, reason: "it asks for no address" };
      const { error } = pool();
      if (error !== undefined) return { yes: false, reason: error };
      const count = needed(addresses);
      const asked = `${count} IP ${count === 1n ? "address" : "addresses"}`;
      return { yes: left() >= count, reason: `it asks for ${asked}, and ${left()} are free` };
    },
  };
}
