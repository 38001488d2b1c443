/** What each pod takes of the room it is in. A pod is charged to one room at most, and gives back exactly what it took. */
import { add } from "../../../../kube/exact-amounts.ts";
import { type Amounts, subtract } from "./requests.ts";

export interface ChargedRoom {
  readonly taken: Map<string, bigint>;
  pods: number;
}

export interface Charges<R extends ChargedRoom> {
  charge(podUid: string, room: R, requests: Amounts): void;
  /** The room that the pod was charged to, if it was. */
  giveBack(podUid: string): R | undefined;
  roomOf(podUid: string): R | undefined;
}

export function createCharges<R extends ChargedRoom>(): Charges<R> {
  const charged = new Map<string, { readonly room: R; readonly requests: Amounts }>();
  return {
    charge(podUid, room, requests) {
      add(room.taken, requests);
      room.pods += 1;
      charged.set(podUid, { room, requests });
    },
    giveBack(podUid) {
      const charge = charged.get(podUid);
      if (!charge) return undefined;
      charged.delete(podUid);
      subtract(charge.room.taken, charge.requests);
      charge.room.pods -= 1;
      return charge.room;
    },
    roomOf: (podUid) => charged.get(podUid)?.room,
  };
}
