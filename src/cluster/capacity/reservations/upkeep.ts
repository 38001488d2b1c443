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
import { zero } from "../../../market/decimal.ts";
import type { Fit } from "../../../market/fit.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { type BidId, bidOn, formatOrderId, parseOrderId } from "../../../market/ids.ts";
import type { Overcommit } from "../../../market/overcommit.ts";
import { volumeKind } from "../../../market/volume-kind.ts";
import { nsToMs } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { minute } from "../../../runtime/durations.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import type { Log } from "../../../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../../runtime/outcome.ts";
import { type NodeState, nodeResources, type Room } from "../placement/room.ts";
import { nowhere } from "./accounting.ts";
import type { Book } from "./book.ts";
import { bodyOf, promisedUnits, type Replica, type Reservation, reservationOf } from "./reservation.ts";
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

// * Finds another place for what is promised on a node that is gone from the picture or has less than was promised of it. A
// promise without a place stays a promise: it is said aloud, and tried again with the next picture.

/** Promises that are moved to other nodes after one picture: each is a placement, and pictures come every second. */
export const reservationMoves = 100;
/** Of what is wrong with promises: enough to see what it is. */
const reservationConditions = 50;

export const conditionTypes = ["Unplaced", "Overbooked", "SpareVolumes"] as const;

interface Promised {
  readonly reservation: Reservation;
  readonly replica: Replica;
}

interface Resettled {
  /** The reservations that have a replica on another node now. */
  readonly moved: readonly Reservation[];
  /** There are more than are tried at once. */
  readonly hasMore: boolean;
}

export function resettle(book: Book, place: (units: readonly ResourceUnit[]) => Fit): Resettled {
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
function promisedInVain(book: Book): Promised[] {
  const inVain: Promised[] = [];
  const { room } = book;
  const isAtFault = (name: string) => {
    const node = room.node(name);
    return !node || isOverbooked(node);
  };
  // Nearly always there is none, and then the reservations need not be looked through.
  let any = false;
  for (const { claim, carrier } of book.held) {
    if (carrier || claim.amounts.length === 0 || !isAtFault(claim.node)) continue;
    any = true;
    break;
  }
  if (!any) return [];
  for (const reservation of book.all()) {
    for (const replica of reservation.replicas) {
      const { carrier, inPicture, claim } = replica.onNode;
      if (!carrier && !inPicture && isAtFault(claim.node)) inVain.push({ reservation, replica });
    }
  }
  return inVain;
}

function isOverbooked({ free }: NodeState): boolean {
  return free.some((amount) => amount < 0n);
}

export function conditionsOf(book: Book): Condition[] {
  const { room } = book;
  const conditions: Condition[] = [];
  for (const { reservation, replica } of promisedInVain(book)) {
    const { node } = replica.onNode.claim;
    if (room.node(node)) continue;
    const where = node === "" ? "nothing has room for it" : `it was to be on ${node}, which is not in the inventory`;
    const message = `a replica of unit ${replica.unit} of ${reservation.orderId} has no node: ${where}`;
    conditions.push(condition("Unplaced", message, { subject: `${reservation.orderId} ${replica.unit}` }));
    if (conditions.length >= reservationConditions) return conditions;
  }
  return [...conditions, ...overbookedNodes(room), ...spareVolumes(book)].slice(0, reservationConditions);
}

/** They hold a tenant's data, and stay as long as his lease. */
function* spareVolumes(book: Book): Iterable<Condition> {
  for (const { orderId, storageClass, bytes } of book.spareVolumes()) {
    const message = `${orderId} has ${bytes} bytes of storage class ${storageClass} beyond its lease: volumes of replicas that it had once`;
    yield condition("SpareVolumes", message, { subject: `${orderId} ${storageClass}` });
  }
}

function overbookedNodes({ nodes, classes }: Room): Condition[] {
  const conditions: Condition[] = [];
  for (const node of nodes) {
    if (!isOverbooked(node)) continue;
    const missing = nodeResources.flatMap((name, at) => {
      const free = node.free[at] ?? 0n;
      return free < 0n ? [`${-free} of ${name}`] : [];
    });
    const subject = `node ${node.name}`;
    conditions.push(
      condition("Overbooked", `${subject} is promised more than it has: ${missing.join(", ")}`, { subject }),
    );
  }
  for (const [name, free] of classes) {
    if (free < 0n) {
      const subject = `storage class ${name}`;
      conditions.push(condition("Overbooked", `${subject} is promised more than it has: ${-free} bytes`, { subject }));
    }
  }
  return conditions;
}
