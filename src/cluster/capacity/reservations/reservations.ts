/** Reserves capacity for groups and releases it. */
import { isDeepStrictEqual } from "node:util";
import type { Journal } from "../../../journal/journal.ts";
import type { Tables } from "../../../journal/tables.ts";
import type { Fit, Fits, Overcommit } from "../../../market/fit.ts";
import type { GroupSpec, ResourceUnit } from "../../../market/group-spec.ts";
import { leasedAddressesOf } from "../../../market/group-totals.ts";
import { largest } from "../../../runtime/bigint.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { createHistogram, networkDurationBounds } from "../../../runtime/metrics.ts";
import type { AddressPool } from "../addresses/address-pool.ts";
import type { AddressSharing } from "../addresses/lease-addresses.ts";
import type { InventoryFeed } from "../inventory/feed.ts";
import { placementFailure } from "../placement/placement-failure.ts";
import { reservationSettleMs } from "./accounting.ts";
import type { Book } from "./book.ts";
import { type Reservation, reservationBody, reservationOf } from "./reservation.ts";

export type ClusterCapacity = Reservations["capacity"];

type ReserveRequest = Pick<Reservation, "orderId" | "offer" | "expiresAtMs"> & { readonly group: GroupSpec };

interface ReservationsDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly book: Book;
  readonly addresses: AddressBook;
  readonly place: (units: readonly ResourceUnit[]) => Fit;
  readonly overcommit: Overcommit;
  readonly inventory: Pick<InventoryFeed, "ageMs" | "error">;
  readonly journal: Pick<Journal, "durable">;
  /** Called with the order of a new reservation, which will expire. */
  readonly onReserved: (orderId: string) => void;
}

export type Reservations = ReturnType<typeof createReservations>;

export function createReservations(deps: ReservationsDeps) {
  const { book, addresses, place, overcommit, inventory, journal, onReserved, clock, log } = deps;
  const roomListeners: (() => void)[] = [];
  const expiredListeners: ((orderId: string) => void)[] = [];
  const changeListeners: (() => void)[] = [];
  const counts = { created: 0, rejected: 0, fitting: 0, misfitting: 0, released: 0, releasedNothing: 0 };
  const durations = createHistogram(networkDurationBounds);

  function changed(): void {
    for (const listener of changeListeners) listener();
  }

  function room(): void {
    for (const listener of roomListeners) listener();
    changed();
  }

  function fit(group: GroupSpec): Fit {
    const found = inventory.error === undefined ? place(group.units) : placementFailure(inventory.error);
    counts[found.fits ? "fitting" : "misfitting"] += 1;
    return found;
  }

  function reserve(request: ReserveRequest): ReturnType<typeof take> {
    const startedMs = clock.monotonicMs();
    const reserved = take(request);
    durations.observe((clock.monotonicMs() - startedMs) * 1_000);
    counts[reserved.fits ? "created" : "rejected"] += 1;
    return reserved;
  }

  function take({ orderId, group, offer, expiresAtMs }: ReserveRequest) {
    const before = book.get(orderId);
    const hasPods = before?.replicas.some(({ onNode }) => onNode.carrier !== undefined);
    if (before && (hasPods || isDeepStrictEqual(before.offer, offer))) {
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
    if (!book.remove(orderId)) {
      counts.releasedNothing += 1;
      return;
    }
    counts.released += 1;
    log.debug("reservation released", { order: orderId, why });
    room();
    // Units are written in order, so this also undoes a pending write of the reservation.
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
    /** Notified of whatever changes what is free. */
    onChange: (listener: () => void) => void changeListeners.push(listener),
    changed,
    /** More may fit than before. */
    room,
    expired(orderId: string): void {
      for (const listener of expiredListeners) listener(orderId);
    },
    counts: counts as Readonly<typeof counts>,
    durations,
  };
}

function findFor({ inventory, addresses, place }: ReservationsDeps, group: GroupSpec, offer: Fits["offer"]): Fit {
  if (inventory.error !== undefined) return placementFailure(inventory.error);
  const { yes, reason } = addresses.answerFor(leasedAddressesOf(offer));
  return yes ? place(group.units.map((unit, at) => ({ ...unit, ...offer[at] }))) : placementFailure(reason);
}

function reservedOf({ orderId, offer, replicas }: Reservation, book: Book) {
  return {
    fits: true as const,
    offer,
    replicas: replicas.map(({ unit, onNode }) => ({ unit, node: onNode.claim.node })),
    /** Writes its current state: it may be on another node by now, or released. */
    write({ reservations }: Tables): void {
      const now = book.get(orderId);
      if (now) reservations.put({ orderId, body: reservationBody(now) });
    },
  };
}

export type AddressBook = ReturnType<typeof createAddressBook>;

interface AddressBookDeps {
  readonly book: Book;
  readonly pool: () => Pick<AddressPool, "usage" | "free" | "ageMs" | "error" | "confirmed">;
  readonly sharing: AddressSharing;
  /** Whether the order's lease runs. */
  readonly isLeased: (orderId: string) => boolean;
  readonly monotonicMs: () => number;
}

export function createAddressBook({ book, pool, sharing, isLeased, monotonicMs }: AddressBookDeps) {
  /** Since when a lease is known to have its addresses. */
  const confirmedAtMs = new WeakMap<Reservation, number>();

  /** The operator's count includes them: it follows the cluster with a short delay. */
  function isInCount(reservation: Reservation): boolean {
    const atMs = confirmedAtMs.get(reservation);
    const { ageMs } = pool();
    return atMs !== undefined && ageMs !== undefined && monotonicMs() - ageMs >= atMs + reservationSettleMs;
  }

  /** With "owner", all endpoints of an owner share one. */
  function needed(addresses: number): bigint {
    return sharing === "owner" && addresses > 1 ? 1n : BigInt(addresses);
  }

  const promised = () =>
    [...book.withAddresses].reduce((sum, each) => (isInCount(each) ? sum : sum + needed(each.addresses)), 0n);

  const left = () => largest(pool().free - promised(), 0n);

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
    /** After an answer of the operator. An address lost again, as by deletion of its Service, is promised again. */
    confirm(): void {
      for (const reservation of book.withAddresses) {
        const confirmed = pool().confirmed(reservation.orderId);
        if (confirmed === undefined) continue;
        if (confirmed < needed(reservation.addresses)) confirmedAtMs.delete(reservation);
        else if (!confirmedAtMs.has(reservation)) confirmedAtMs.set(reservation, monotonicMs());
      }
    },
    answerFor(addresses: number) {
      if (addresses === 0) return { yes: true, reason: "it requests no address" };
      const { error } = pool();
      if (error !== undefined) return { yes: false, reason: error };
      const count = needed(addresses);
      const wanted = `${count} IP ${count === 1n ? "address" : "addresses"}`;
      return { yes: left() >= count, reason: `it requests ${wanted}, and ${left()} are free` };
    },
  };
}
