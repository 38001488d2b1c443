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
  /** The snapshot counts its carrier, so we do not. */
  inSnapshot: boolean;
}

/** An object of the cluster that takes what was promised: a bound pod, or a claim that has its volume. */
export interface Carrier {
  readonly kind: "pod" | "volume";
  readonly uid: string;
  readonly version: string;
  /** When it became known that it is bound, by the clock that only grows; below zero if before our start. */
  readonly seenAtMs: number;
}

/** A snapshot, and until when at least the cluster had these pods and volumes, by the clock that only grows. */
export interface ShownSnapshot {
  readonly snapshot: ClusterSnapshot;
  readonly trueAtMs: Readonly<Record<Carrier["kind"], number>>;
}

/** The node of what has none. */
export const nowhere = "";

export function holding(claim: Partial<ReplicaClaim>, carrier?: Carrier): CapacityHolding {
  const nothing = { node: nowhere, amounts: [], cards: undefined, classes: new Map() };
  return { claim: { ...nothing, ...claim }, carrier, inSnapshot: false };
}

export type Accounting = ReturnType<typeof createAccounting>;

export function createAccounting() {
  /** Every one that a promise or an object of the cluster stands behind. */
  const holdings = new Set<CapacityHolding>();
  /** Of these, what is taken from the room. */
  const held = new Set<CapacityHolding>();
  /** Whose promise is over while their pod or volume is there. */
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

  /** By us or by the snapshot, never by both. */
  function count(holding: CapacityHolding): void {
    const { claim, carrier } = holding;
    holding.inSnapshot = carrier !== undefined && isCounted(carrier);
    if (!holding.inSnapshot) take(holding);
    else giveBack(holding);
    // What the snapshot counts of ours looks like others'; which GPUs of a node it has only we can tell.
    if (holding.inSnapshot) room.recognise(claim);
  }

  /** Takes what it takes now, which may be on another node or of another size. */
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

    /** The promise is over; a pod or volume that no snapshot counts yet takes its room all the same. */
    remove(holding: CapacityHolding): void {
      if (holding.carrier && !holding.inSnapshot) ending.add(holding);
      else if (holdings.delete(holding)) giveBack(holding);
    },

    /** Another object stands for it, or none any more. */
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

    /** What `look` finds while this is not taken. */
    without<T>(holding: CapacityHolding, look: () => T): T {
      giveBack(holding);
      try {
        return look();
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

function counts({ snapshot: picture, trueAtMs }: ShownSnapshot, { kind, version, seenAtMs }: Carrier): boolean {
  // Enough for an operator that does not tell how new its snapshot is, as the network's; it is never this far behind.
  if (trueAtMs[kind] >= seenAtMs + reservationSettleMs) return true;
  const upTo = kind === "pod" ? picture.podsVersion : picture.volumesVersion;
  return upTo !== undefined && (upTo === version || isLaterVersion(upTo, version));
}
