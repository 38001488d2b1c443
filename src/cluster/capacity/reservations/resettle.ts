/**
 * Finds another place for what is promised on a node that is gone from the picture or has less than was promised of it. A
 * promise without a place stays a promise: it is said aloud, and tried again with the next picture.
 */
import { zero } from "../../../market/decimal.ts";
import type { Fit } from "../../../market/fit.ts";
import type { ResourceUnit, UnitResources } from "../../../market/group-spec.ts";
import { volumeKind } from "../../../market/volume-kind.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { jsonText } from "../../../runtime/json-text.ts";
import { type NodeState, nodeResources, type Room } from "../placement/room.ts";
import type { Book } from "./book.ts";
import type { Replica, Reservation } from "./reservation.ts";

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
