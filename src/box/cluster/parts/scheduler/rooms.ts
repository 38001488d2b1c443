/** What is taken on every node, kept up to date pod by pod. */
import { kinds } from "../../../../kube/kinds.ts";
import type { ServerEvent } from "../../api-server/api-server.ts";
import type { Node } from "../shapes/node.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import { type ChargedRoom, createCharges } from "./charges.ts";
import { type Amounts, amountsOf, podRequests } from "./requests.ts";

export interface Room {
  readonly node: Node;
  readonly allocatable: Amounts;
  readonly taken: Amounts;
  readonly pods: number;
}

export interface Rooms {
  notice(event: ServerEvent): void;
  /** Every room once; each time another one is the first. */
  inTurn(): Iterable<Room>;
  readonly size: number;
}

interface OpenRoom extends ChargedRoom {
  node: Node | undefined;
  allocatable: Amounts;
}

export function createRooms(): Rooms {
  /** A pod may name a node that is not there (yet); its room has no node then. */
  const rooms = new Map<string, OpenRoom>();
  const known = new Map<string, Room>();
  let list: readonly Room[] | undefined;
  let turn = 0;
  const charges = createCharges<OpenRoom>();

  function roomOf(name: string): OpenRoom {
    const room = rooms.get(name) ?? { node: undefined, allocatable: new Map(), taken: new Map(), pods: 0 };
    rooms.set(name, room);
    return room;
  }

  function noticeNode(type: ServerEvent["type"], node: Node): void {
    const { name } = node.metadata;
    const room = roomOf(name);
    room.node = type === "deleted" ? undefined : node;
    room.allocatable = amountsOf(node.status?.allocatable);
    if (room.node && known.has(name)) return;
    if (room.node) known.set(name, room as Room);
    else known.delete(name);
    list = undefined;
  }

  /** A finished pod takes nothing any more; one on its way out still does. */
  function noticePod(type: ServerEvent["type"], pod: Pod): void {
    const { uid } = pod.metadata;
    const name = type === "deleted" || isFinished(pod) ? undefined : pod.spec.nodeName;
    const before = charges.roomOf(uid);
    if (before && name && before === rooms.get(name)) return;
    charges.giveBack(uid);
    if (name) charges.charge(uid, roomOf(name), podRequests(pod));
  }

  return {
    notice({ type, kind, object }) {
      if (kind === kinds.node) noticeNode(type, object as Node);
      else if (kind === kinds.pod) noticePod(type, object as Pod);
    },
    *inTurn() {
      list ??= [...known.values()];
      const first = turn;
      for (let n = 0; n < list.length; n++) {
        turn = (first + n + 1) % list.length;
        const room = list[(first + n) % list.length];
        if (room) yield room;
      }
    },
    get size() {
      return known.size;
    },
  };
}
