import type { AddressPool } from "../addresses/address-pool.ts";
import type { AddressSharing } from "../addresses/addresses-wanted.ts";
import type { Book } from "./book.ts";
import { reservationSettleMs } from "./book.ts";
import type { Reservation } from "./reservation.ts";

export interface Answer {
  readonly yes: boolean;
  readonly reason: string;
}

export type AddressBook = ReturnType<typeof createAddressBook>;

interface AddressBookDeps {
  readonly book: Book;
  readonly pool: () => Pick<AddressPool, "usage" | "free" | "ageMs" | "trouble" | "confirmed">;
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
    answerFor(addresses: number): Answer {
      if (addresses === 0) return { yes: true, reason: "it asks for no address" };
      const { trouble } = pool();
      if (trouble !== undefined) return { yes: false, reason: trouble };
      const count = needed(addresses);
      const asked = `${count} IP ${count === 1n ? "address" : "addresses"}`;
      return { yes: left() >= count, reason: `it asks for ${asked}, and ${left()} are free` };
    },
  };
}
