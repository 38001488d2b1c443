/**
 * The one accounting of capacity: free is the newest snapshot less every holding that it does not count yet. A holding is
 * ours until the snapshot is newer than the pod or volume that it became; pods and volumes are watched apart, so each kind
 * has a version of its own.
 */
import { isLaterVersion } from "../../../kube/kube.ts";
import { second } from "../../../runtime/durations.ts";
import { type ClusterSnapshot, roomOf } from "../inventory/feed.ts";
import { openRoom, type ReplicaClaim, type Room } from "../placement/room.ts";

/** A snapshot true this long after a pod was bound counts it: several times what an operator takes to show a change. */
export const reservationSettleMs = 15 * second;

/** Part of a promise: taken from the room until the snapshot counts the object that it became. */
export interface CapacityHolding {
  claim: ReplicaClaim;
  carrier: Carrier | undefined;
  /** The snapshot counts its carrier. */
  inSnapshot: boolean;
}

/** An object of the cluster that takes what was promised: a bound pod, or a bound volume claim. */
export interface Carrier {
  readonly kind: "pod" | "volume";
  readonly uid: string;
  readonly version: string;
  /** When its binding was seen, by the monotonic clock; below zero if before our start. */
  readonly seenAtMs: number;
}

/** A snapshot, and until when at least its pods and volumes were current, by the monotonic clock. */
export interface ShownSnapshot {
  readonly snapshot: ClusterSnapshot;
  readonly trueAtMs: Readonly<Record<Carrier["kind"], number>>;
}

/** The name of no node. */
export const nowhere = "";

export function holding(claim: Partial<ReplicaClaim>, carrier?: Carrier): CapacityHolding {
  const nothing = { node: nowhere, amounts: [], gpus: undefined, classes: new Map() };
  return { claim: { ...nothing, ...claim }, carrier, inSnapshot: false };
}

export type Accounting = ReturnType<typeof createAccounting>;

export function createAccounting() {
  /** All that are promised, or taken by an object of the cluster. */
  const holdings = new Set<CapacityHolding>();
  /** Of these, what is taken from the room. */
  const held = new Set<CapacityHolding>();
  /** No longer promised, while their pod or volume is there. */
  const ending = new Set<CapacityHolding>();
  let room: Room = openRoom({ nodes: [], classes: new Map() });
  let shown: ShownSnapshot | undefined;

  function take(holding: CapacityHolding): void {
    if (held.has(holding)) return;
    held.add(holding);
    room.take(holding.claim);
  }

  function giveBack(holding: CapacityHolding): void {
    if (held.delete(holding)) room.giveBack(holding.claim);
  }

  const isCounted = (carrier: Carrier) => shown !== undefined && counts(shown, carrier);

  /** Counts it in the room or leaves it to the snapshot, never both. */
  function count(holding: CapacityHolding): void {
    const { claim, carrier } = holding;
    holding.inSnapshot = carrier !== undefined && isCounted(carrier);
    if (!holding.inSnapshot) take(holding);
    else giveBack(holding);
    // The snapshot does not say which GPUs of a node it has.
    if (holding.inSnapshot) room.recognise(claim);
  }

  /** Moves it to another node or resizes it. */
  function change(holding: CapacityHolding, claim: ReplicaClaim): void {
    const isHeld = held.has(holding);
    if (isHeld) room.giveBack(holding.claim);
    holding.claim = claim;
    if (isHeld) room.take(claim);
  }

  return {
    get room(): Room {
      return room;
    },
    get snapshot(): ClusterSnapshot | undefined {
      return shown?.snapshot;
    },
    held: held as ReadonlySet<CapacityHolding>,
    isCounted,
    change,

    add(holding: CapacityHolding): void {
      holdings.add(holding);
      count(holding);
    },

    /** The promise is over; a pod or volume that no snapshot counts yet keeps its room. */
    remove(holding: CapacityHolding): void {
      if (holding.carrier && !holding.inSnapshot) ending.add(holding);
      else if (holdings.delete(holding)) giveBack(holding);
    },

    /** Sets the object that takes it. */
    carry(holding: CapacityHolding, carrier: Carrier | undefined): void {
      holding.carrier = carrier;
      count(holding);
    },

    show(next: ShownSnapshot): void {
      shown = next;
      room = openRoom(roomOf(next.snapshot));
      held.clear();
      for (const holding of holdings) {
        count(holding);
        if (holding.inSnapshot && ending.delete(holding)) holdings.delete(holding);
      }
    },

    /** The result of `find` while this is not taken. */
    without<T>(holding: CapacityHolding, find: () => T): T {
      giveBack(holding);
      try {
        return find();
      } finally {
        take(holding);
      }
    },

    /** Pods and volumes that no snapshot counts yet. */
    get awaited(): number {
      return [...held].filter(({ carrier }) => carrier).length;
    },
  };
}

function counts({ snapshot, trueAtMs }: ShownSnapshot, { kind, version, seenAtMs }: Carrier): boolean {
  // For operators that do not report how new their snapshot is, such as the Go provider's.
  if (trueAtMs[kind] >= seenAtMs + reservationSettleMs) return true;
  const upTo = kind === "pod" ? snapshot.podsVersion : snapshot.volumesVersion;
  return upTo !== undefined && (upTo === version || isLaterVersion(upTo, version));
}
