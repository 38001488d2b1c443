/**
 * The one accounting of capacity: what is free is the newest snapshot less every promise that is not yet in it. A promise
 * is held by us until the snapshot is newer than the pod or volume that it became, judged by the version that the snapshot
 * has of that kind. Replicas are matched with pods one by one; volumes outlive pods and are summed lease by lease.
 */
import { isLaterVersion } from "../../../kube/object-version.ts";
import { addTo, soldWith } from "../../../market/group-totals.ts";
import { second } from "../../../runtime/durations.ts";
import { invariant } from "../../../runtime/invariant.ts";
import { type ClusterPicture, roomOf } from "../inventory/feed.ts";
import { openRoom, type Room } from "../placement/room.ts";
import type { LeaseClaim, LeasePod, PodRequests } from "./lease-watches.ts";
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

/** A snapshot true this long after a pod was bound counts it: several times what an operator takes to show a change. */
export const reservationSettleMs = 15 * second;

/** A snapshot, and until when at least the cluster had these pods and volumes, by the clock that only grows. */
interface ShownPicture {
  readonly picture: ClusterPicture;
  readonly trueAtMs: Readonly<Record<Carrier["kind"], number>>;
}

export type Book = ReturnType<typeof createBook>;

export function createBook(namespaceOf: (orderId: string) => string) {
  const reservations = new Map<string, Reservation>();
  const byNamespace = new Map<string, Reservation>();
  const withAddresses = new Set<Reservation>();
  /** By resource, of all reservations together. */
  const sold = new Map<string, bigint>();
  /** What is taken from the room. */
  const held = new Set<Holding>();
  /** Of reservations that are gone: their pods and volumes are there, and no snapshot counts them yet. */
  const left = new Set<Holding>();
  const carried = new Map<string, Replica>();
  /** Bound and alive, by namespace; some have no replica: they came before their reservation, or there are too many. */
  const pods = new Map<string, Map<string, SeenPod>>();
  /** Claims that have a volume, by namespace and uid. */
  const claims = new Map<string, Map<string, SeenClaim>>();
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

  function isCounted({ kind, version, seenAtMs }: Carrier): boolean {
    if (!shown) return false;
    const upTo = versionOf(shown.picture, kind);
    if (upTo !== undefined && (upTo === version || isLaterVersion(upTo, version))) return true;
    // The network's operator does not tell how new its snapshot is; it is never this far behind.
    return shown.trueAtMs[kind] >= seenAtMs + reservationSettleMs;
  }

  /** Once counted it stays so, unless the snapshot now knows less of its kind. */
  function recount(seen: { inPicture: boolean }, carrier: Carrier, older: ReadonlySet<Carrier["kind"]>): void {
    seen.inPicture = (seen.inPicture && !older.has(carrier.kind)) || isCounted(carrier);
  }

  /** Opens the room anew: all that is promised is taken from it, but for what the snapshot counts. */
  function reopen({ picture }: ShownPicture, older: ReadonlySet<Carrier["kind"]>): void {
    room = openRoom(roomOf(picture));
    held.clear();
    for (const holding of left) {
      if (holding.carrier && isCounted(holding.carrier)) left.delete(holding);
      else hold(holding);
    }
    for (const made of claims.values()) for (const claim of made.values()) recount(claim, claim, older);
    for (const reservation of reservations.values()) {
      for (const { onNode } of reservation.replicas) {
        if (onNode.carrier) recount(onNode, onNode.carrier, older);
        if (onNode.inPicture) room.recognise(onNode.claim);
        else hold(onNode);
      }
      holdVolumes(reservation);
    }
  }

  const claimsOf = ({ orderId }: Reservation) => claims.get(namespaceOf(orderId))?.values() ?? [];

  /** Of the volumes that a lease is promised, those that are not there, or that no snapshot counts. */
  function holdVolumes(reservation: Reservation): void {
    const { volumes } = reservation;
    letGo(volumes);
    const counted = Array.from(claimsOf(reservation)).filter(({ inPicture }) => inPicture);
    const missing = [...volumesLeft(reservation, counted)].filter(([, bytes]) => bytes > 0n);
    volumes.claim = { ...volumes.claim, classes: new Map(missing) };
    if (missing.length > 0) hold(volumes);
  }

  function claimsChanged(namespace: string): void {
    const reservation = byNamespace.get(namespace);
    if (reservation) holdVolumes(reservation);
  }

  function forgetClaim({ namespace, uid }: Pick<LeaseClaim, "namespace" | "uid">): void {
    const made = claims.get(namespace);
    if (!made?.delete(uid)) return;
    if (made.size === 0) claims.delete(namespace);
    claimsChanged(namespace);
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
      if (!isCounted(pod)) continue;
      onNode.inPicture = true;
      letGo(onNode);
      room.recognise(onNode.claim);
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
    onNode.carrier = undefined;
    onNode.inPicture = false;
    hold(onNode);
  }

  /** Its pod or volume takes room until a snapshot counts it, and after that the snapshot has it without us. */
  function leave(holding: Holding): void {
    left.add(holding);
    hold(holding);
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
    /** Pods and volumes that no snapshot counts yet. */
    get awaited(): number {
      let count = left.size;
      for (const { onNode } of carried.values()) if (!onNode.inPicture) count += 1;
      for (const [namespace, made] of claims) {
        if (byNamespace.has(namespace)) for (const { inPicture } of made.values()) if (!inPicture) count += 1;
      }
      return count;
    },

    /** What leases have of storage classes beyond what they were promised: volumes of replicas that they no longer have. */
    *spareVolumes(): Iterable<{ readonly orderId: string; readonly storageClass: string; readonly bytes: bigint }> {
      for (const namespace of claims.keys()) {
        const reservation = byNamespace.get(namespace);
        if (!reservation) continue;
        for (const [storageClass, bytes] of volumesLeft(reservation, claimsOf(reservation))) {
          if (bytes < 0n) yield { orderId: reservation.orderId, storageClass, bytes: -bytes };
        }
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
      holdVolumes(reservation);
      if (reservation.addresses > 0) withAddresses.add(reservation);
      match(namespace);
    },

    remove(orderId: string): Reservation | undefined {
      const reservation = reservations.get(orderId);
      if (!reservation) return undefined;
      reservations.delete(orderId);
      sell(reservation, -1n);
      byNamespace.delete(namespaceOf(orderId));
      withAddresses.delete(reservation);
      for (const { onNode } of reservation.replicas) {
        const { carrier, inPicture } = onNode;
        if (carrier) carried.delete(carrier.uid);
        if (carrier && !inPicture) leave(onNode);
        else letGo(onNode);
      }
      letGo(reservation.volumes);
      for (const claim of claimsOf(reservation)) {
        const classes = new Map([[claim.storageClass, claim.bytes]]);
        const volume = holding({ node: nowhere, amounts: [], cards: undefined, classes });
        if (!claim.inPicture) leave({ ...volume, carrier: claim });
      }
      return reservation;
    },

    show(next: ShownPicture): void {
      const before = shown?.picture;
      shown = next;
      // An operator that was restarted, or another one, may know less than the last snapshot had.
      const older = carrierKinds.filter((kind) =>
        isLaterVersion(versionOf(before, kind) ?? "", versionOf(next.picture, kind) ?? ""),
      );
      reopen(next, new Set(older));
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
      pods.set(namespace, seen.set(uid, { kind: "pod", uid, node, requests, version, seenAtMs }));
      match(namespace);
    },

    podGone: ({ uid, namespace }: LeasePod) => forget(namespace, uid),

    /** A volume claim of a lease, as it is now. */
    claim({ uid, namespace, storageClass = "", bytes, version }: LeaseClaim, seenAtMs: number): void {
      const made = claims.get(namespace) ?? new Map<string, SeenClaim>();
      if (bytes === undefined) forgetClaim({ namespace, uid });
      if (bytes === undefined || made.get(uid)?.bytes === bytes) return;
      const carrier = { kind: "volume", uid, version, seenAtMs } as const;
      claims.set(namespace, made.set(uid, { ...carrier, storageClass, bytes, inPicture: isCounted(carrier) }));
      claimsChanged(namespace);
    },

    claimGone: forgetClaim,
  };
}

const carrierKinds = ["pod", "volume"] as const;

/** Everything of this kind up to this version of the API server is in the snapshot. */
function versionOf(picture: ClusterPicture | undefined, kind: Carrier["kind"]): string | undefined {
  return kind === "pod" ? picture?.podsVersion : picture?.volumesVersion;
}

/** What is kept of a claim that has a volume. */
interface SeenClaim extends Carrier {
  readonly storageClass: string;
  readonly bytes: bigint;
  /** The snapshot counts its volume. */
  inPicture: boolean;
}

/** Promised bytes by class, less those of claims; below zero where there is more than was promised. */
function volumesLeft(reservation: Reservation, claims: Iterable<SeenClaim>): Map<string, bigint> {
  const bytes = promisedVolumes(reservation);
  for (const claim of claims) addTo(bytes, claim.storageClass, -claim.bytes);
  // A claim of the class "default" names the cluster's own default class.
  let ofDefault = bytes.get("default") ?? 0n;
  for (const [name, left] of bytes) {
    const moved = left < 0n && -left < ofDefault ? -left : left < 0n ? ofDefault : 0n;
    if (moved <= 0n || name === "default") continue;
    bytes.set(name, left + moved);
    ofDefault -= moved;
    bytes.set("default", ofDefault);
  }
  return bytes;
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
