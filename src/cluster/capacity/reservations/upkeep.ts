/**
 * Reconciles the reservation of one order with chain, journal and cluster. Nothing is given up while a bid or lease of ours
 * may need it; one that provably has neither behind it is released.
 */
import type { Chain } from "../../../chain/chain.ts";
import { type Bid, runs } from "../../../chain/records.ts";
import { isUnderWay } from "../../../journal/intents.ts";
import type { Journal } from "../../../journal/journal.ts";
import { volumeKind } from "../../../market/attributes.ts";
import { zero } from "../../../market/decimal.ts";
import type { Fit, Overcommit } from "../../../market/fit.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { type BidId, bidOn, formatOrderId, parseOrderId } from "../../../market/ids.ts";
import { nsToMs } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { minute } from "../../../runtime/durations.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../../runtime/outcome.ts";
import { nodeResources, type Room, type RoomNode } from "../placement/room.ts";
import { type CapacityHolding, nowhere } from "./accounting.ts";
import type { Book } from "./book.ts";
import { promisedUnits, type Replica, type Reservation, reservationBody, reservationOf } from "./reservation.ts";
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
      if (reservation) rows.put({ orderId, body: reservationBody(reservation) });
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

/** Promises that are moved to other nodes after one snapshot: each is a placement, and snapshots come every second. */
export const reservationMoves = 100;
const mostConditions = 50;

export const reservationConditionTypes = ["Unplaced", "Overbooked", "SpareVolumes"] as const;

/**
 * Finds another node for what is promised on one that is gone from the snapshot or overbooked, and returns the reservations
 * that were moved. A promise without a place stays a promise, with a condition, and is tried again with the next snapshot.
 */
export function resettle(book: Book, place: (units: readonly ResourceUnit[]) => Fit) {
  const moved = new Set<Reservation>();
  /** What asks for the same fits no better. */
  const hopeless = new Set<string>();
  let tries = 0;
  for (const { reservation, replica } of promisedInVain(book)) {
    const { onNode } = replica;
    const node = book.room.node(onNode.claim.node);
    if (node && !isOverbooked(node)) continue;
    const unit = reservation.offer.find(({ id }) => id === replica.unit);
    const demand = jsonText({ ...unit, id: 0 });
    if (!unit || hopeless.has(demand)) continue;
    tries += 1;
    if (tries > reservationMoves) break;
    const found = book.without(onNode, () => place([oneReplica(unit)]));
    const [spot] = found.fits ? found.replicas : [];
    if (!spot) hopeless.add(demand);
    if (!spot || spot.node === onNode.claim.node) continue;
    book.move(onNode, spot.node);
    moved.add(reservation);
  }
  return { moved: [...moved], hasMore: tries > reservationMoves };
}

/** Its volumes are promised already, or there: all that they need of another node is to be mounted. */
function oneReplica(unit: UnitResources): ResourceUnit {
  const storage = unit.storage.map((volume) => (volumeKind(volume).persistent ? { ...volume, bytes: 0n } : volume));
  return { ...unit, storage, count: 1, price: { denom: "", amount: zero } };
}

/** What no pod stands for yet, on nodes that are gone or overbooked. */
function promisedInVain({ room, held, all }: Book): { readonly reservation: Reservation; readonly replica: Replica }[] {
  const isInVain = ({ claim, carrier }: CapacityHolding) => {
    if (carrier || claim.amounts.length === 0) return false;
    const node = room.node(claim.node);
    return !node || isOverbooked(node);
  };
  // Nearly always there is none, and then the reservations need not be looked through.
  if (!held.values().some(isInVain)) return [];
  return [...all()].flatMap((reservation) =>
    reservation.replicas.filter(({ onNode }) => isInVain(onNode)).map((replica) => ({ reservation, replica })),
  );
}

function isOverbooked({ free }: RoomNode): boolean {
  return free.some((amount) => amount < 0n);
}

export function conditionsOf(book: Book): Condition[] {
  return [...unplaced(book), ...overbooked(book.room), ...spareVolumes(book)].slice(0, mostConditions);
}

function unplaced(book: Book): Condition[] {
  return promisedInVain(book).flatMap(({ reservation: { orderId }, replica: { unit, onNode } }) => {
    const { node } = onNode.claim;
    if (book.room.node(node)) return [];
    const where =
      node === nowhere ? "nothing has room for it" : `it was to be on ${node}, which is not in the inventory`;
    const message = `a replica of unit ${unit} of ${orderId} has no node: ${where}`;
    return [condition("Unplaced", message, { subject: `${orderId} ${unit}` })];
  });
}

/** They hold a tenant's data, and stay as long as his lease. */
function spareVolumes(book: Book): Condition[] {
  return Array.from(book.spareVolumes(), ({ orderId, storageClass, bytes }) => {
    const message = `${orderId} has ${bytes} bytes of storage class ${storageClass} beyond its lease: volumes of replicas that it had once`;
    return condition("SpareVolumes", message, { subject: `${orderId} ${storageClass}` });
  });
}

function overbooked({ nodes, classes }: Room): Condition[] {
  const ofNodes = nodes.map(({ name, free }) => {
    const missing = nodeResources.map((resource, at) => [resource, free[at] ?? 0n] as const);
    const texts = missing.flatMap(([resource, left]) => (left < 0n ? [`${-left} of ${resource}`] : []));
    return [`node ${name}`, texts.join(", ")] as const;
  });
  const ofClasses = Array.from(classes, ([name, free]) => {
    return [`storage class ${name}`, free < 0n ? `${-free} bytes` : ""] as const;
  });
  return [...ofNodes, ...ofClasses].flatMap(([subject, missing]) => {
    const message = `${subject} is promised more than it has: ${missing}`;
    return missing === "" ? [] : [condition("Overbooked", message, { subject })];
  });
}
