/**
 * Looks at the reservation of one order, with what chain, journal and cluster say of it. The same look after a start, when
 * something happened to a bid or lease of ours, and when a reservation has outlived its time.
 *
 * Capacity that is sold twice is the worst, so nothing is given up while a bid or lease of ours may need it. Second worst
 * is a reservation that nobody needs and nobody gives up: one that provably has nothing behind it goes.
 */

import type { Chain } from "../../../chain/chain.ts";
import { type Bid, runs } from "../../../chain/records.ts";
import { isUnderWay } from "../../../journal/intents.ts";
import type { Journal } from "../../../journal/journal.ts";
import { type BidId, bidOn, formatOrderId, parseOrderId } from "../../../market/ids.ts";
import type { Overcommit } from "../../../market/overcommit.ts";
import { nsToMs } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../../runtime/outcome.ts";
import type { Book } from "./book.ts";
import { bodyOf } from "./journal-body.ts";
import { promisedUnits } from "./promised-units.ts";
import { nowhere, reservationOf } from "./reservation.ts";
import type { Reservations } from "./reservations.ts";

/** One that has outlived its time is looked at again this often while something still stands behind it. */
export const reservationRecheckMs = minute;

interface UpkeepDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly book: Book;
  readonly reservations: Reservations;
  readonly overcommit: Overcommit;
  /** Finds places for what has none. */
  readonly settle: () => void;
  readonly log: Log;
}

/** Chain time advances with blocks, so looking more often changes nothing. */
const leastBlockMs = 1_000;

export function createUpkeep({ chain, journal, book, reservations, overcommit, settle, log }: UpkeepDeps) {
  const { mirror, queries } = chain;
  const chainNowMs = () => nsToMs(mirror.timeNs);

  /** Moved since they were written down. */
  const unsaved = new Set<string>();

  /** What one order's reservation needs now. */
  async function look(orderId: string, signal: AbortSignal): Promise<Outcome> {
    if (unsaved.delete(orderId)) await save(orderId);
    if (!mirror.ready) return waiting("chain", "the mirror is not built yet");
    const id = bidOn(parseOrderId(orderId), chain.provider);
    const lease = mirror.lease(id);
    if (runs(lease)) {
      if (book.get(orderId)) return done();
      if (!adopt(orderId, id, "lease")) return stalled("neither the bid nor the deployment says what was promised");
      settle();
      await save(orderId);
      return done();
    }
    const reservation = book.get(orderId);
    if (!reservation) return done();
    if (lease) {
      // The workload is torn down elsewhere; what it still takes is in the picture.
      await reservations.capacity.release(orderId, `the lease is ${lease.state}`);
      return done();
    }
    const leftMs = reservation.expiresAtMs - chainNowMs();
    if (leftMs > 0) return recheck(Math.max(leftMs, leastBlockMs));
    reservations.expired(orderId);
    if (isNeeded(orderId, id)) return recheck(reservationRecheckMs);
    const [bid, chainLease] = await Promise.all([
      queries.bid(id, { atOrAbove: mirror.height, signal }),
      queries.lease(id, { atOrAbove: mirror.height, signal }),
    ]);
    // Whoever came back to it while we asked knows better than the answer.
    const isSame = book.get(orderId) === reservation && reservation.expiresAtMs <= chainNowMs();
    if (!isSame || stands(bid.value) || runs(chainLease.value) || isNeeded(orderId, id)) {
      return recheck(reservationRecheckMs);
    }
    log.info("reservation with neither bid nor lease released", { order: orderId, height: bid.height });
    await reservations.capacity.release(orderId, "neither a bid nor a lease is behind it");
    return done();
  }

  const isNeeded = (orderId: string, id: BidId) => isReservationNeeded(orderId, id, { mirror, journal });

  /** The journal has lost it: the chain knows what was promised, the cluster what of it runs. */
  function adopt(orderId: string, id: BidId, of: "bid" | "lease"): boolean {
    const units = promisedUnits(mirror, id);
    if (!units) return false;
    const replicas = units.flatMap(({ id: unit, count }) =>
      Array.from({ length: count }, () => ({ unit, node: nowhere })),
    );
    const expiresAtMs = chainNowMs() + reservationRecheckMs;
    book.add(reservationOf(orderId, { replicas, offer: units }, overcommit, expiresAtMs));
    log.info("reservation made again from the chain", { order: orderId, of, replicas: replicas.length });
    reservations.changed();
    return true;
  }

  /** A new place is worth little: what a power cut may take of it is found again. */
  function save(orderId: string): Promise<void> {
    return journal.relaxed("reservation moved", ({ reservations: rows }) => {
      const reservation = book.get(orderId);
      if (reservation) rows.put({ orderId, body: bodyOf(reservation) });
    });
  }

  return {
    look,
    unsaved,
    /** Only after a start: later a bid without a reservation is one that is being closed. */
    adoptBids(): void {
      for (const { id, state } of mirror.bids()) {
        const orderId = formatOrderId(id);
        const isForgotten = state === "open" && !book.get(orderId) && !hasUnsettled(orderId, journal);
        if (isForgotten && adopt(orderId, id, "bid")) unsaved.add(orderId);
      }
      settle();
    },
  };
}

/** A bid or lease of ours stands behind it, or something that we send about it. */
export function isReservationNeeded(
  orderId: string,
  id: BidId,
  { mirror, journal }: { readonly mirror: Chain["mirror"]; readonly journal: Pick<Journal, "read"> },
): boolean {
  if (stands(mirror.bid(id)) || runs(mirror.lease(id))) return true;
  return hasUnsettled(orderId, journal);
}

function hasUnsettled(orderId: string, { read }: Pick<Journal, "read">): boolean {
  return read.intents.about(orderId).some(isUnderWay);
}

function stands(bid: Pick<Bid, "state"> | undefined): boolean {
  return bid?.state === "open" || bid?.state === "active";
}
