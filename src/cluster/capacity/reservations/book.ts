/** The book of reservations: what is promised to whom, and which pods and volumes of the cluster it has become. */
import { addTo, soldWith } from "../../../market/group-totals.ts";
import { invariant } from "../../../runtime/invariant.ts";
import {
  type Accounting,
  type CapacityHolding,
  type Carrier,
  createAccounting,
  holding,
  type ShownSnapshot,
} from "./accounting.ts";
import type { LeaseClaim } from "./lease-watches.ts";
import { createReplicaPods } from "./replica-pods.ts";
import { promisedVolumes, type Reservation, unitsOf } from "./reservation.ts";

export type Book = ReturnType<typeof createBook>;

export function createBook(namespaceOf: (orderId: string) => string) {
  const accounting = createAccounting();
  const reservations = new Map<string, Reservation>();
  const byNamespace = new Map<string, Reservation>();
  const withAddresses = new Set<Reservation>();
  /** By resource, of all reservations together. */
  const sold = new Map<string, bigint>();
  const pods = createReplicaPods(accounting, (namespace) => byNamespace.get(namespace));
  const volumes = createLeaseVolumes(accounting, byNamespace);

  function sell(reservation: Reservation, sign: 1n | -1n): void {
    for (const [resource, amount] of soldWith(unitsOf(reservation))) addTo(sold, resource, sign * amount);
  }

  return {
    get room() {
      return accounting.room;
    },
    get snapshot() {
      return accounting.snapshot;
    },
    get size(): number {
      return reservations.size;
    },
    get: (orderId: string) => reservations.get(orderId),
    all: (): Iterable<Reservation> => reservations.values(),
    keys: (): Iterable<string> => reservations.keys(),
    sold: sold as ReadonlyMap<string, bigint>,
    withAddresses: withAddresses as ReadonlySet<Reservation>,
    held: accounting.held,
    without: accounting.without,
    spareVolumes: volumes.spare,
    pod: pods.seen,
    podGone: pods.gone,
    claim: volumes.seen,
    claimGone: volumes.gone,

    /** Pods and volumes that no snapshot counts yet. */
    get awaited(): number {
      return accounting.awaited + volumes.awaited;
    },

    add(reservation: Reservation): void {
      const { orderId } = reservation;
      invariant(!reservations.has(orderId), "an order is promised the same twice", { orderId });
      reservations.set(orderId, reservation);
      sell(reservation, 1n);
      for (const { onNode } of reservation.replicas) accounting.add(onNode);
      const namespace = namespaceOf(orderId);
      byNamespace.set(namespace, reservation);
      volumes.count(namespace);
      if (reservation.addresses > 0) withAddresses.add(reservation);
      pods.match(namespace);
    },

    remove(orderId: string): Reservation | undefined {
      const reservation = reservations.get(orderId);
      if (!reservation) return undefined;
      reservations.delete(orderId);
      sell(reservation, -1n);
      withAddresses.delete(reservation);
      for (const { onNode } of reservation.replicas) {
        pods.forget(onNode);
        accounting.remove(onNode);
      }
      volumes.leave(namespaceOf(orderId));
      byNamespace.delete(namespaceOf(orderId));
      return reservation;
    },

    show(next: ShownSnapshot): void {
      accounting.show(next);
      volumes.countAll();
    },

    /** Puts what is promised on another node. */
    move: (held: CapacityHolding, node: string) => accounting.change(held, { ...held.claim, node }),
  };
}

/** A volume claim that is bound. */
interface SeenClaim extends Carrier {
  readonly storageClass: string;
  readonly bytes: bigint;
}

/** Volumes outlive the pods that use them, so they are counted by lease, by its volume claims. */
function createLeaseVolumes(accounting: Accounting, byNamespace: ReadonlyMap<string, Reservation>) {
  /** By namespace and uid. */
  const claims = new Map<string, Map<string, SeenClaim>>();
  const claimsIn = (namespace: string) => [...(claims.get(namespace)?.values() ?? [])];

  /** Holds the promised volumes of a lease that no snapshot counts yet. */
  function count(namespace: string): void {
    const reservation = byNamespace.get(namespace);
    if (!reservation) return;
    const { volumes } = reservation;
    const missing = volumesLeft(reservation, claimsIn(namespace).filter(accounting.isCounted));
    accounting.remove(volumes);
    volumes.claim = { ...volumes.claim, classes: new Map([...missing].filter(([, bytes]) => bytes > 0n)) };
    if (volumes.claim.classes.size > 0) accounting.add(volumes);
  }

  function gone({ namespace, uid }: Pick<LeaseClaim, "namespace" | "uid">): void {
    const made = claims.get(namespace);
    if (!made?.delete(uid)) return;
    if (made.size === 0) claims.delete(namespace);
    count(namespace);
  }

  return {
    count,
    gone,
    countAll(): void {
      for (const namespace of claims.keys()) count(namespace);
    },
    /** A volume claim of a lease, as it is now. */
    seen({ uid, namespace, storageClass = "", bytes, version }: LeaseClaim, seenAtMs: number): void {
      if (bytes === undefined) {
        gone({ namespace, uid });
        return;
      }
      const made = claims.get(namespace) ?? new Map<string, SeenClaim>();
      if (made.get(uid)?.bytes === bytes) return;
      claims.set(namespace, made.set(uid, { kind: "volume", uid, version, seenAtMs, storageClass, bytes }));
      count(namespace);
    },
    /** The reservation is gone, and its volumes may exist for a while. */
    leave(namespace: string): void {
      const reservation = byNamespace.get(namespace);
      if (reservation) accounting.remove(reservation.volumes);
      for (const claim of claimsIn(namespace)) {
        const volume = holding({ classes: new Map([[claim.storageClass, claim.bytes]]) }, claim);
        accounting.add(volume);
        accounting.remove(volume);
      }
    },
    /** Bytes beyond what was promised: volumes of replicas that the lease no longer has. */
    *spare(): Iterable<{ readonly orderId: string; readonly storageClass: string; readonly bytes: bigint }> {
      for (const namespace of claims.keys()) {
        const reservation = byNamespace.get(namespace);
        if (!reservation) continue;
        for (const [storageClass, bytes] of volumesLeft(reservation, claimsIn(namespace))) {
          if (bytes < 0n) yield { orderId: reservation.orderId, storageClass, bytes: -bytes };
        }
      }
    },
    get awaited(): number {
      const promised = [...claims.keys()].filter((namespace) => byNamespace.has(namespace));
      return promised.flatMap(claimsIn).filter((claim) => !accounting.isCounted(claim)).length;
    },
  };
}

/** Promised bytes by class, less those of claims; below zero where a lease has more than was promised. */
function volumesLeft(reservation: Reservation, claims: Iterable<SeenClaim>): Map<string, bigint> {
  const bytes = promisedVolumes(reservation);
  for (const claim of claims) addTo(bytes, claim.storageClass, -claim.bytes);
  // A claim of the class "default" names the class that was the cluster's default when it was made.
  for (const [name, left] of bytes) {
    const ofDefault = bytes.get("default") ?? 0n;
    if (name === "default" || left >= 0n || ofDefault <= 0n) continue;
    const moved = -left < ofDefault ? -left : ofDefault;
    bytes.set(name, left + moved).set("default", ofDefault - moved);
  }
  return bytes;
}
