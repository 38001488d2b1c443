/**
 * The book of reservations: what is promised to whom, and what that leaves free. What is free is the newest picture less
 * everything that is promised and not yet in it. A replica is counted by us or by the picture, never by both: it leaves
 * when a picture comes that is newer than the binding of its pod, and comes back when that pod goes. Its volumes outlive
 * its pods; they are counted lease by lease, by the claims that are there.
 */
import { isLaterVersion } from "../../../kube/object-version.ts";
import { addTo, soldWith } from "../../../market/group-totals.ts";
import { second } from "../../../runtime/durations.ts";
import { invariant } from "../../../runtime/invariant.ts";
import type { ClusterPicture } from "../inventory/feed.ts";
import { roomOf } from "../inventory/room-of.ts";
import { openRoom, type Room } from "../placement/room.ts";
import type { LeaseClaim } from "./lease-claims.ts";
import type { LeasePod, PodRequests } from "./lease-pods.ts";
import {
  type Carrier,
  type Holding,
  holding,
  nowhere,
  promisedVolumes,
  type Replica,
  type Reservation,
  unitsOf,
} from "./reservation.ts";

/** A picture true this long after a pod was bound counts it: several times what an operator takes to show a change. */
export const reservationSettleMs = 15 * second;

/** A picture, and until when at least the cluster looked like it, by the clock that only grows. */
interface ShownPicture {
  readonly picture: ClusterPicture;
  readonly trueAtMs: number;
}

export type Book = ReturnType<typeof createBook>;

export function createBook(namespaceOf: (orderId: string) => string) {
  const reservations = new Map<string, Reservation>();
  const byNamespace = new Map<string, Reservation>();
  /** Few ask for any. */
  const withAddresses = new Set<Reservation>();
  /** By resource, of all reservations together. */
  const sold = new Map<string, bigint>();
  /** What no picture counts yet: all that is taken from the room. */
  const held = new Set<Holding>();
  /** Of these a pod is bound, and the next picture may count it. */
  const awaited = new Set<Holding>();
  const carried = new Map<string, Replica>();
  /** Bound and alive, by namespace; some have no replica: they came before their reservation, or there are too many. */
  const pods = new Map<string, Map<string, SeenPod>>();
  /** Those that have a volume, by namespace and uid. */
  const claims = new Map<string, Map<string, SeenClaim>>();
  /** Of these no picture counts the volume yet. */
  const awaitedClaims = new Set<SeenClaim>();
  let room: Room = openRoom({ nodes: [], classes: new Map() });
  let shown: ShownPicture | undefined;

  function sell(reservation: Reservation, sign: 1n | -1n): void {
    for (const [resource, amount] of soldWith(unitsOf(reservation))) addTo(sold, resource, sign * amount);
  }

  function hold(holding: Holding): void {
    if (held.has(holding)) return;
    held.add(holding);
    room.take(holding.claim);
  }

  function letGo(holding: Holding): void {
    if (held.delete(holding)) room.giveBack(holding.claim);
  }

  function move(holding: Holding, node: string): void {
    if (holding.claim.node === node) return;
    const isHeld = held.has(holding);
    if (isHeld) room.giveBack(holding.claim);
    holding.claim = { ...holding.claim, node };
    if (isHeld) room.take(holding.claim);
  }

  /** The picture counts what this carrier stands for. */
  function isCounted({ version, seenAtMs }: Carrier): boolean {
    if (!shown) return false;
    const { podsVersion } = shown.picture;
    if (podsVersion !== undefined && (podsVersion === version || isLaterVersion(podsVersion, version))) return true;
    // The network's operator does not tell how new its picture is; it is never this far behind.
    return shown.trueAtMs >= seenAtMs + reservationSettleMs;
  }

  function handOver(holding: Holding): void {
    const { carrier } = holding;
    if (!carrier || !isCounted(carrier)) return;
    awaited.delete(holding);
    holding.inPicture = true;
    letGo(holding);
    room.recognise(holding.claim);
  }

  /** What the picture before this one counted, and this one does not. */
  function takeUpAgain(): void {
    for (const { onNode } of carried.values()) {
      const { carrier, inPicture } = onNode;
      if (!carrier || !inPicture || isCounted(carrier)) continue;
      onNode.inPicture = false;
      awaited.add(onNode);
      hold(onNode);
    }
    for (const [namespace, made] of claims) {
      for (const claim of made.values()) if (!isCounted(claim)) awaitedClaims.add(claim);
      holdVolumes(namespace);
    }
  }

  /** Of the volumes that a lease is promised, those that are not there, or that no picture counts. */
  function holdVolumes(namespace: string): void {
    const reservation = byNamespace.get(namespace);
    if (!reservation) return;
    const { volumes } = reservation;
    letGo(volumes);
    const left = promisedVolumes(reservation);
    for (const claim of claims.get(namespace)?.values() ?? []) {
      if (!awaitedClaims.has(claim)) addTo(left, soldAs(claim, left), -claim.bytes);
    }
    const classes = new Map([...left].filter(([, bytes]) => bytes > 0n));
    volumes.claim = { ...volumes.claim, classes };
    if (classes.size > 0) hold(volumes);
  }

  function forgetClaim({ namespace, uid }: Pick<LeaseClaim, "namespace" | "uid">): void {
    const made = claims.get(namespace);
    const claim = made?.get(uid);
    if (!made || !claim) return;
    awaitedClaims.delete(claim);
    if (made.delete(uid) && made.size === 0) claims.delete(namespace);
    holdVolumes(namespace);
  }

  /** The lease of this claim is over, and its volume is there. */
  function awaitLone(claim: SeenClaim): void {
    const classes = new Map([[claim.storageClass, claim.bytes]]);
    const lone = holding({ node: nowhere, amounts: [], cards: undefined, classes });
    lone.carrier = claim;
    awaited.add(lone);
    hold(lone);
  }

  /** Finds the replicas of all pods of a namespace that have none yet, or one of another unit: their own may be free now. */
  function match(namespace: string): void {
    const reservation = byNamespace.get(namespace);
    const seen = [...(pods.get(namespace)?.values() ?? [])];
    for (const { uid, requests } of reservation ? seen : []) {
      const replica = carried.get(uid);
      if (replica && !asksAlike(replica.requests, requests)) putDown(uid, replica);
    }
    const free = reservation?.replicas.filter(({ onNode }) => onNode.carrier === undefined) ?? [];
    const spare = free.length > 0 ? seen.filter(({ uid }) => !carried.has(uid)) : [];
    for (const { pod, replica } of pairs(spare, free)) {
      const { onNode } = replica;
      // Kubernetes has decided; what was planned elsewhere is free there from now on.
      move(onNode, pod.node);
      carried.set(pod.uid, replica);
      onNode.carrier = pod;
      awaited.add(onNode);
      handOver(onNode);
    }
  }

  /** A pod is gone or on its way out, and its replica needs room for the next one. */
  function forget(namespace: string, uid: string): void {
    const seen = pods.get(namespace);
    if (seen?.delete(uid) && seen.size === 0) pods.delete(namespace);
    const replica = carried.get(uid);
    if (!replica) return;
    putDown(uid, replica);
    match(namespace);
  }

  /** This pod does not stand for it any more. */
  function putDown(uid: string, { onNode }: Replica): void {
    carried.delete(uid);
    awaited.delete(onNode);
    onNode.carrier = undefined;
    onNode.inPicture = false;
    hold(onNode);
  }

  return {
    get room(): Room {
      return room;
    },
    get picture(): ClusterPicture | undefined {
      return shown?.picture;
    },
    get size(): number {
      return reservations.size;
    },
    get: (orderId: string) => reservations.get(orderId),
    all: (): Iterable<Reservation> => reservations.values(),
    keys: (): Iterable<string> => reservations.keys(),
    ofNamespace: (namespace: string) => byNamespace.get(namespace),
    sold: sold as ReadonlyMap<string, bigint>,
    withAddresses: withAddresses as ReadonlySet<Reservation>,
    held: held as ReadonlySet<Holding>,
    /** How many wait for a picture that counts them. */
    get awaited(): number {
      return awaited.size + awaitedClaims.size;
    },

    /** What leases have of storage classes beyond what they were promised: volumes of replicas that they no longer have. */
    *spareVolumes(): Iterable<{ readonly orderId: string; readonly storageClass: string; readonly bytes: bigint }> {
      for (const [namespace, made] of claims) {
        const reservation = byNamespace.get(namespace);
        if (!reservation) continue;
        const left = promisedVolumes(reservation);
        for (const claim of made.values()) addTo(left, soldAs(claim, left), -claim.bytes);
        const { orderId } = reservation;
        for (const [storageClass, bytes] of left) if (bytes < 0n) yield { orderId, storageClass, bytes: -bytes };
      }
    },

    add(reservation: Reservation): void {
      const { orderId } = reservation;
      invariant(!reservations.has(orderId), "an order is promised the same twice", { orderId });
      reservations.set(orderId, reservation);
      sell(reservation, 1n);
      for (const { onNode } of reservation.replicas) hold(onNode);
      const namespace = namespaceOf(orderId);
      byNamespace.set(namespace, reservation);
      holdVolumes(namespace);
      if (reservation.addresses > 0) withAddresses.add(reservation);
      match(namespace);
    },

    remove(orderId: string): Reservation | undefined {
      const reservation = reservations.get(orderId);
      if (!reservation) return undefined;
      reservations.delete(orderId);
      sell(reservation, -1n);
      const namespace = namespaceOf(orderId);
      byNamespace.delete(namespace);
      withAddresses.delete(reservation);
      for (const { onNode } of reservation.replicas) {
        // A pod that no picture counts yet takes its room all the same; the picture that lets go of it is on its way.
        if (!awaited.has(onNode)) letGo(onNode);
        if (onNode.carrier) carried.delete(onNode.carrier.uid);
      }
      letGo(reservation.volumes);
      // So does a volume.
      for (const claim of claims.get(namespace)?.values() ?? []) if (awaitedClaims.delete(claim)) awaitLone(claim);
      return reservation;
    },

    show(next: ShownPicture): void {
      const before = shown?.picture.podsVersion ?? "";
      shown = next;
      // An operator that was restarted, or another one, may know less than the last picture had.
      if (isLaterVersion(before, next.picture.podsVersion ?? "")) takeUpAgain();
      for (const holding of awaited) handOver(holding);
      for (const claim of awaitedClaims) {
        if (!isCounted(claim)) continue;
        awaitedClaims.delete(claim);
        holdVolumes(claim.namespace);
      }
      room = openRoom(roomOf(next.picture));
      for (const holding of held) room.take(holding.claim);
      // What the picture counts of our own it cannot tell from others', and which cards of a node it is only we can.
      for (const { onNode } of carried.values()) if (onNode.inPicture) room.recognise(onNode.claim);
    },

    /** Puts what is promised on another node. */
    move,

    /** What `look` finds while this is not taken. */
    without<T>(holding: Holding, look: () => T): T {
      letGo(holding);
      try {
        return look();
      } finally {
        hold(holding);
      }
    },

    /** A pod of a lease, as it is now. */
    pod({ uid, namespace, node, requests, version }: LeasePod, seenAtMs: number): void {
      if (node === undefined) {
        forget(namespace, uid);
        return;
      }
      const seen = pods.get(namespace) ?? new Map<string, SeenPod>();
      if (seen.has(uid)) return;
      pods.set(namespace, seen.set(uid, { uid, node, requests, version, seenAtMs }));
      match(namespace);
    },

    podGone: ({ uid, namespace }: LeasePod) => forget(namespace, uid),

    /** A volume claim of a lease, as it is now. */
    claim({ uid, namespace, storageClass = "", bytes, version }: LeaseClaim, seenAtMs: number): void {
      const made = claims.get(namespace) ?? new Map<string, SeenClaim>();
      const before = made.get(uid);
      if (bytes === undefined) forgetClaim({ namespace, uid });
      if (bytes === undefined || before?.bytes === bytes) return;
      if (before) awaitedClaims.delete(before);
      const claim = { uid, namespace, storageClass, bytes, version, seenAtMs };
      claims.set(namespace, made.set(uid, claim));
      if (!isCounted(claim)) awaitedClaims.add(claim);
      holdVolumes(namespace);
    },

    claimGone: forgetClaim,
  };
}

/** What is kept of a claim that has a volume. */
interface SeenClaim extends Carrier {
  readonly namespace: string;
  readonly storageClass: string;
  readonly bytes: bigint;
}

/** Who asks for the default class has a volume of the class that is the cluster's own default. */
function soldAs({ storageClass }: SeenClaim, promised: ReadonlyMap<string, bigint>): string {
  return promised.has(storageClass) || !promised.has("default") ? storageClass : "default";
}

/** What is kept of a pod that is bound. */
interface SeenPod extends Carrier {
  readonly node: string;
  readonly requests: PodRequests;
}

/** Each pod with a replica: first those that ask for the same, best where it was meant to be, then the closest. */
function* pairs(spare: readonly SeenPod[], free: readonly Replica[]) {
  const left = new Set(free);
  const others: SeenPod[] = [];
  for (const pod of spare) {
    const alike = [...left].filter(({ requests }) => asksAlike(requests, pod.requests));
    const replica = alike.find(({ onNode }) => onNode.claim.node === pod.node) ?? alike[0];
    if (replica && left.delete(replica)) yield { pod, replica };
    else others.push(pod);
  }
  for (const pod of others) {
    const replica = closest(pod, left);
    if (replica && left.delete(replica)) yield { pod, replica };
  }
}

const requested = ["gpus", "cpuMilli", "memoryBytes", "volumes"] as const;

function asksAlike(one: PodRequests, other: PodRequests): boolean {
  return requested.every((resource) => one[resource] === other[resource]);
}

/** The largest that asks for no more than the pod, else the smallest: what is let go of must not be more than the pod takes. */
function closest(pod: SeenPod, replicas: Iterable<Replica>): Replica | undefined {
  const bySize = [...replicas].sort((one, other) => compareSize(one.requests, other.requests));
  const isCovered = ({ requests }: Replica) => requested.every((each) => requests[each] <= pod.requests[each]);
  return bySize.findLast(isCovered) ?? bySize[0];
}

function compareSize(one: PodRequests, other: PodRequests): number {
  const first = requested.find((resource) => one[resource] !== other[resource]);
  if (first === undefined) return 0;
  return one[first] < other[first] ? -1 : 1;
}
