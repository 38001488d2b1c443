/** Matches the pods of a lease with its reserved replicas. */
import type { Accounting, CapacityHolding, Carrier } from "./accounting.ts";
import type { LeasePod, PodRequests } from "./lease-watches.ts";
import type { Replica, Reservation } from "./reservation.ts";

/** A pod that is bound and alive. */
interface SeenPod extends Carrier {
  readonly node: string;
  readonly requests: PodRequests;
}

export function createReplicaPods(
  accounting: Pick<Accounting, "carry" | "change">,
  reservationIn: (namespace: string) => Reservation | undefined,
) {
  /** By the uid of the pod. */
  const carried = new Map<string, Replica>();
  /** By namespace; some have no replica: they came before their reservation, or there are too many. */
  const pods = new Map<string, Map<string, SeenPod>>();

  /** Matches the pods of a namespace that have no replica, or one of another unit: their own may be free now. */
  function match(namespace: string): void {
    const reservation = reservationIn(namespace);
    if (!reservation) return;
    const seen = [...(pods.get(namespace)?.values() ?? [])];
    for (const { uid, requests } of seen) {
      const replica = carried.get(uid);
      if (replica && !isSameUnit(replica.requests, requests)) unmatch(uid, replica);
    }
    const free = reservation.replicas.filter(({ onNode }) => onNode.carrier === undefined);
    const spare = free.length > 0 ? seen.filter(({ uid }) => !carried.has(uid)) : [];
    for (const { pod, replica } of pairs(spare, free)) {
      const { onNode } = replica;
      carried.set(pod.uid, replica);
      // The scheduler decides; a node planned before is free again.
      accounting.change(onNode, { ...onNode.claim, node: pod.node });
      accounting.carry(onNode, pod);
    }
  }

  /** A pod is gone or terminating, and its replica needs room for the next one. */
  function gone({ uid, namespace }: Pick<LeasePod, "uid" | "namespace">): void {
    const seen = pods.get(namespace);
    if (seen?.delete(uid) && seen.size === 0) pods.delete(namespace);
    const replica = carried.get(uid);
    if (!replica) return;
    unmatch(uid, replica);
    match(namespace);
  }

  function unmatch(uid: string, { onNode }: Replica): void {
    carried.delete(uid);
    accounting.carry(onNode, undefined);
  }

  return {
    match,
    gone,
    /** A pod of a lease, as it is now. */
    seen(pod: LeasePod, seenAtMs: number): void {
      const { uid, namespace, node, requests, version } = pod;
      if (node === undefined) {
        gone(pod);
        return;
      }
      const seen = pods.get(namespace) ?? new Map<string, SeenPod>();
      if (seen.has(uid)) return;
      pods.set(namespace, seen.set(uid, { kind: "pod", uid, node, requests, version, seenAtMs }));
      match(namespace);
    },
    /** Its reservation is gone. */
    forget({ carrier }: CapacityHolding): void {
      if (carrier) carried.delete(carrier.uid);
    },
  };
}

/** Each pod with a replica: first those with the same requests, preferably on the planned node, then the closest. */
function* pairs(spare: readonly SeenPod[], free: readonly Replica[]) {
  const left = new Set(free);
  const others: SeenPod[] = [];
  for (const pod of spare) {
    const alike = [...left].filter(({ requests }) => isSameUnit(requests, pod.requests));
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

function isSameUnit(one: PodRequests, other: PodRequests): boolean {
  return requested.every((resource) => one[resource] === other[resource]);
}

/** The largest that requests no more than the pod, else the smallest: not more is released than the pod takes. */
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
