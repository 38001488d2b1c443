/**
 * What the pods that a kubelet has let in take of its node. The scheduler does not send more than there is room for,
 * but a pod that names its node never met the scheduler.
 */
import { type ChargedRoom, createCharges } from "../scheduler/charges.ts";
import { type Amounts, amountsOf, podRequests } from "../scheduler/requests.ts";
import type { Node } from "../shapes/node.ts";
import type { Pod } from "../shapes/pod.ts";

/** Why a pod is turned away, in the words of a kubelet. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export interface NodeRooms {
  /** Takes the room for the pod, or says what there is too little of. */
  take(pod: Pod, node: Node): Rejection | undefined;
  giveBack(podUid: string): void;
}

interface Room extends ChargedRoom {
  readonly nodeUid: string;
}

export function createNodeRooms(): NodeRooms {
  const rooms = new Map<string, Room>();
  const charges = createCharges<Room>();
  return {
    take(pod, { metadata, status }) {
      const room = rooms.get(metadata.uid) ?? { nodeUid: metadata.uid, taken: new Map(), pods: 0 };
      const requests = podRequests(pod);
      const rejection = lack(requests, room, amountsOf(status?.allocatable));
      if (rejection) return rejection;
      rooms.set(room.nodeUid, room);
      charges.charge(pod.metadata.uid, room, requests);
      return undefined;
    },
    giveBack(podUid) {
      const room = charges.giveBack(podUid);
      if (room?.pods === 0) rooms.delete(room.nodeUid);
    },
  };
}

/** A kubelet looks at these first, in this order, and tells the first that is short. */
const wellKnown = ["cpu", "memory", "ephemeral-storage"];

function lack(requests: Amounts, { taken, pods }: Room, allocatable: Amounts): Rejection | undefined {
  const short = (resource: string, requested: bigint, used: bigint): Rejection | undefined => {
    const capacity = allocatable.get(resource) ?? 0n;
    if (requested === 0n || requested <= capacity - used) return undefined;
    const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
  };
  const tooMany = short("pods", 1n, BigInt(pods));
  if (tooMany) return tooMany;
  for (const resource of [...wellKnown, ...requests.keys()]) {
    // An extended resource that the node does not know may be the cluster's, not the node's.
    if (resource.includes("/") && !allocatable.has(resource)) continue;
    const found = short(resource, requests.get(resource) ?? 0n, taken.get(resource) ?? 0n);
    if (found) return found;
  }
  return undefined;
}
