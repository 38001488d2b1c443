/** Which IP addresses are free: those that the IP operator has free, less what is promised and not yet in use by its count. */
import { limits } from "../../runtime/limits.ts";
import type { AddressPool } from "../addresses/address-pool.ts";
import type { Book } from "./book.ts";
import type { Reservation } from "./reservation.ts";

export interface Answer {
  readonly yes: boolean;
  readonly reason: string;
}

export type AddressBook = ReturnType<typeof createAddressBook>;

interface AddressBookDeps {
  readonly book: Book;
  readonly pool: () => Pick<AddressPool, "usage" | "free" | "ageMs" | "trouble" | "confirmed">;
  /** Whether the order's lease runs, so that it may have its addresses. */
  readonly isLeased: (orderId: string) => boolean;
  readonly monotonicMs: () => number;
}

export function createAddressBook({ book, pool, isLeased, monotonicMs }: AddressBookDeps) {
  /** Since when a lease is known to have its addresses. */
  const confirmedAtMs = new WeakMap<Reservation, number>();

  /** By then the operator's count has them too: it is renewed with what happens in the cluster, and a little late. */
  function isInCount(reservation: Reservation): boolean {
    const atMs = confirmedAtMs.get(reservation);
    const { ageMs } = pool();
    return atMs !== undefined && ageMs !== undefined && monotonicMs() - ageMs >= atMs + limits.reservationSettleMs;
  }

  function promised(): bigint {
    let sum = 0n;
    for (const reservation of book.withAddresses) if (!isInCount(reservation)) sum += BigInt(reservation.addresses);
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
    /** The leases of which it is not known that they have theirs. */
    *unconfirmed(): Iterable<string> {
      for (const reservation of book.withAddresses) {
        if (!confirmedAtMs.has(reservation) && isLeased(reservation.orderId)) yield reservation.orderId;
      }
    },
    /** The operator has answered. */
    confirm(): void {
      for (const reservation of book.withAddresses) {
        const { orderId, addresses } = reservation;
        const isComplete = (pool().confirmed(orderId) ?? 0n) >= BigInt(addresses);
        if (isComplete && !confirmedAtMs.has(reservation)) confirmedAtMs.set(reservation, monotonicMs());
      }
    },
    answerFor(addresses: number): Answer {
      if (addresses === 0) return { yes: true, reason: "it asks for no address" };
      const { trouble } = pool();
      if (trouble !== undefined) return { yes: false, reason: trouble };
      const asked = `${addresses} IP ${addresses === 1 ? "address" : "addresses"}`;
      return { yes: left() >= BigInt(addresses), reason: `it asks for ${asked}, and ${left()} are free` };
    },
  };
}
