/** What is taken on every node, kept up to date pod by pod. */
import { kinds } from "../../../../kube/kinds.ts";
import type { ServerEvent } from "../../api-server/in-process.ts";
import type { KubeNode } from "../shapes/node.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import { allocatableOf, requestsOf, type WholeAmounts } from "./requests.ts";

export interface NodeRoom {
  readonly node: KubeNode;
  readonly allocatable: WholeAmounts;
  readonly taken: WholeAmounts;
  readonly pods: number;
}

interface NodeRooms {
  notice(event: ServerEvent): void;
  list(): NodeRoom[];
}

interface Room {
  /** A pod may name a node that is not there (yet). */
  node: KubeNode | undefined;
  allocatable: WholeAmounts;
  readonly taken: Map<string, bigint>;
  pods: number;
}

export function createNodeRooms(): NodeRooms {
  const rooms = new Map<string, Room>();
  /** A pod is charged to one room at most, and gives back exactly what it took. */
  const charged = new Map<string, { readonly room: Room; readonly requests: WholeAmounts }>();

  function roomOf(name: string): Room {
    const room = rooms.get(name) ?? { node: undefined, allocatable: new Map(), taken: new Map(), pods: 0 };
    rooms.set(name, room);
    return room;
  }

  function charge(room: Room, requests: WholeAmounts, sign: 1 | -1): void {
    room.pods += sign;
    for (const [name, amount] of requests) room.taken.set(name, (room.taken.get(name) ?? 0n) + BigInt(sign) * amount);
  }

  /** A finished pod takes nothing any more; one on its way out still does. */
  function noticePod(type: ServerEvent["type"], pod: Pod): void {
    const { uid } = pod.metadata;
    const isGone = type === "deleted" || isFinished(pod);
    const room = isGone || !pod.spec.nodeName ? undefined : roomOf(pod.spec.nodeName);
    const before = charged.get(uid);
    if (before?.room === room) return;
    if (before) charge(before.room, before.requests, -1);
    charged.delete(uid);
    if (!room) return;
    const requests = requestsOf(pod);
    charge(room, requests, 1);
    charged.set(uid, { room, requests });
  }

  return {
    notice({ type, kind, object }) {
      if (kind === kinds.pod) noticePod(type, object as Pod);
      if (kind !== kinds.node) return;
      const node = object as KubeNode;
      const room = roomOf(node.metadata.name);
      room.node = type === "deleted" ? undefined : node;
      room.allocatable = allocatableOf(node.status?.allocatable);
    },
    list: () => [...rooms.values()].filter((room): room is Room & NodeRoom => room.node !== undefined),
  };
}
