/**
 * Reconciles the reservation of one order with chain, journal and cluster. It is released only on proof that neither a bid nor a
 * lease of ours needs it.
 */
import type { Chain } from "../../../chain/chain.ts";
import { type Bid, runs } from "../../../chain/records.ts";
import { isUnderWay } from "../../../journal/intents.ts";
import type { Journal } from "../../../journal/journal.ts";
import { zero } from "../../../market/decimal.ts";
import type { Fit, Overcommit } from "../../../market/fit.ts";
import { type ResourceUnit, type UnitResources, volumeKind } from "../../../market/group-spec.ts";
import { type BidId, bidOn, formatOrderId, parseOrderId } from "../../../market/ids.ts";
import { nsToMs } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { minute } from "../../../runtime/durations.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../../runtime/outcome.ts";
import { nodeResources, type Room, type RoomNode } from "../placement/room.ts";
import { type CapacityHolding, nowhere } from "./accounting.ts";
import type { Book } from "./book.ts";
import { promisedUnits, type Replica, type Reservation, reservationBody, reservationOf } from "./reservation.ts";
import type { Reservations } from "./reservations.ts";

/** An expired reservation that is still needed is rechecked this often. */
export const reservationRecheckMs = minute;

interface UpkeepDeps extends Pick<RuntimeDeps, "log"> {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly book: Book;
  readonly reservations: Reservations;
  readonly overcommit: Overcommit;
  /** Finds nodes for replicas without one. */
  readonly settle: () => void;
}

/** Chain time advances with blocks, so a shorter recheck changes nothing. */
const leastBlockMs = 1_000;

export function createUpkeep({ chain, journal, book, reservations, overcommit, settle, log }: UpkeepDeps) {
  const { mirror, queries } = chain;
  const chainNowMs = () => nsToMs(mirror.timeNs);
  const isNeeded = (orderId: string, id: BidId) => isReservationNeeded(orderId, id, { mirror, journal });

  /** Moved since they were written down. */
  const unsaved = new Set<string>();

  async function reconcile(orderId: string, signal: AbortSignal): Promise<Outcome> {
    if (unsaved.delete(orderId)) await save(orderId);
    if (!mirror.ready) return waiting("chain", "the mirror is not built yet");
    const id = bidOn(parseOrderId(orderId), chain.provider);
    const lease = mirror.lease(id);
    const reservation = book.get(orderId);
    if (runs(lease)) {
      if (reservation) return done();
      if (!adopt(orderId, id, "lease")) return stalled("neither the bid nor the deployment says what was promised");
      settle();
      await save(orderId);
      return done();
    }
    if (!reservation) return done();
    if (lease) {
      // The teardown removes the workload; until then the snapshot counts it.
      await reservations.capacity.release(orderId, `the lease is ${lease.state}`);
      return done();
    }
    const leftMs = reservation.expiresAtMs - chainNowMs();
    if (leftMs > 0) return recheck(Math.max(leftMs, leastBlockMs));
    reservations.expired(orderId);
    if (isNeeded(orderId, id)) return recheck(reservationRecheckMs);
    const at = { atOrAbove: mirror.height, signal };
    const [bid, chainLease] = await Promise.all([queries.bid(id, at), queries.lease(id, at)]);
    // It may have been renewed during the queries.
    const isSame = book.get(orderId) === reservation && reservation.expiresAtMs <= chainNowMs();
    if (!isSame || isOpenOrActive(bid.value) || runs(chainLease.value) || isNeeded(orderId, id)) {
      return recheck(reservationRecheckMs);
    }
    log.info("reservation with neither bid nor lease released", { order: orderId, height: bid.height });
    await reservations.capacity.release(orderId, "neither a bid nor a lease is behind it");
    return done();
  }

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

  /** Relaxed: a move that a power cut loses is found again. */
  function save(orderId: string): Promise<void> {
    return journal.relaxed("reservation moved", ({ reservations: rows }) => {
      const reservation = book.get(orderId);
      if (reservation) rows.put({ orderId, body: reservationBody(reservation) });
    });
  }

  return {
    look: reconcile,
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

/** A bid or lease of ours needs it, or an intent about it is not settled. */
export function isReservationNeeded(
  orderId: string,
  id: BidId,
  { mirror, journal }: { readonly mirror: Chain["mirror"]; readonly journal: Pick<Journal, "read"> },
): boolean {
  if (isOpenOrActive(mirror.bid(id)) || runs(mirror.lease(id))) return true;
  return hasUnsettled(orderId, journal);
}

function hasUnsettled(orderId: string, { read }: Pick<Journal, "read">): boolean {
  return read.intents.about(orderId).some(isUnderWay);
}

function isOpenOrActive(bid: Pick<Bid, "state"> | undefined): boolean {
  return bid?.state === "open" || bid?.state === "active";
}

/** Replicas moved to other nodes after one snapshot: each is a placement, and snapshots come every second. */
export const reservationMoves = 100;
const mostConditions = 50;

export const reservationConditionTypes = ["Unplaced", "Overbooked", "SpareVolumes"] as const;

/**
 * Finds another node for replicas whose node is gone from the snapshot or overbooked, and returns the reservations that were
 * moved. A replica without a node stays promised, with a condition, and is tried again with the next snapshot.
 */
export function resettle(book: Book, place: (units: readonly ResourceUnit[]) => Fit) {
  const moved = new Set<Reservation>();
  /** Demands that fit nowhere. */
  const unplaceable = new Set<string>();
  let tries = 0;
  for (const { reservation, replica } of displaced(book)) {
    const { onNode } = replica;
    const node = book.room.node(onNode.claim.node);
    if (node && !isOverbooked(node)) continue;
    const unit = reservation.offer.find(({ id }) => id === replica.unit);
    const demand = jsonText({ ...unit, id: 0 });
    if (!unit || unplaceable.has(demand)) continue;
    tries += 1;
    if (tries > reservationMoves) break;
    const found = book.without(onNode, () => place([oneReplica(unit)]));
    const [spot] = found.fits ? found.replicas : [];
    if (!spot) unplaceable.add(demand);
    if (!spot || spot.node === onNode.claim.node) continue;
    book.move(onNode, spot.node);
    moved.add(reservation);
  }
  return { moved: [...moved], hasMore: tries > reservationMoves };
}

/** Without the bytes of its persistent volumes, which are promised already: another node only has to mount them. */
function oneReplica(unit: UnitResources): ResourceUnit {
  const storage = unit.storage.map((volume) => (volumeKind(volume).persistent ? { ...volume, bytes: 0n } : volume));
  return { ...unit, storage, count: 1, price: { denom: "", amount: zero } };
}

/** Replicas without a pod, on nodes that are gone or overbooked. */
function displaced({ room, held, all }: Book): { readonly reservation: Reservation; readonly replica: Replica }[] {
  const isDisplaced = ({ claim, carrier }: CapacityHolding) => {
    if (carrier || claim.amounts.length === 0) return false;
    const node = room.node(claim.node);
    return !node || isOverbooked(node);
  };
  // Usually there is none.
  if (!held.values().some(isDisplaced)) return [];
  return [...all()].flatMap((reservation) =>
    reservation.replicas.filter(({ onNode }) => isDisplaced(onNode)).map((replica) => ({ reservation, replica })),
  );
}

function isOverbooked({ free }: RoomNode): boolean {
  return free.some((amount) => amount < 0n);
}

export function conditionsOf(book: Book): Condition[] {
  return [...unplaced(book), ...overbooked(book.room), ...spareVolumes(book)].slice(0, mostConditions);
}

function unplaced(book: Book): Condition[] {
  return displaced(book).flatMap(({ reservation: { orderId }, replica: { unit, onNode } }) => {
    const { node } = onNode.claim;
    if (book.room.node(node)) return [];
    const where =
      node === nowhere ? "nothing has room for it" : `it was to be on ${node}, which is not in the inventory`;
    const message = `a replica of unit ${unit} of ${orderId} has no node: ${where}`;
    return [condition("Unplaced", message, { subject: `${orderId} ${unit}` })];
  });
}

/** They hold a tenant's data, and stay until the lease ends. */
function spareVolumes(book: Book): Condition[] {
  return Array.from(book.spareVolumes(), ({ orderId, storageClass, bytes }) => {
    const message = `${orderId} has ${bytes} bytes of storage class ${storageClass} beyond its lease: volumes of replicas that it had once`;
    return condition("SpareVolumes", message, { subject: `${orderId} ${storageClass}` });
  });
}

function overbooked({ nodes, classes }: Room): Condition[] {
  const missingOf = ({ free }: RoomNode) =>
    nodeResources
      .flatMap((resource, at) => ((free[at] ?? 0n) < 0n ? [`${-(free[at] ?? 0n)} of ${resource}`] : []))
      .join(", ");
  const all = [
    ...nodes.filter(isOverbooked).map((node) => [`node ${node.name}`, missingOf(node)] as const),
    ...Array.from(classes).flatMap(([name, free]) => {
      return free < 0n ? [[`storage class ${name}`, `${-free} bytes`] as const] : [];
    }),
  ];
  return all.map(([subject, missing]) =>
    condition("Overbooked", `${subject} is promised more than it has: ${missing}`, { subject }),
  );
}
