import type { Socket } from "node:net";

/** Where somebody comes from, as far as he cannot choose it: who has an address of version 6 has some 2⁶⁴ of them. */
export function placeOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = [], tail = []] = address.split("::").map((groups) => groups.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

const ownPlace = Symbol("place");

interface Placed {
  [ownPlace]?: string;
}

/** Where the client of a connection comes from. Also through the object that HTTP/2 gives for its socket. */
export function placeOfSocket(socket: Socket | undefined): string {
  return (socket as Placed | undefined)?.[ownPlace] ?? placeOf(socket?.remoteAddress ?? "");
}

/** Where its address alone does not say it, as behind a proxy. */
export function setPlace(socket: Socket, place: string): void {
  (socket as Placed)[ownPlace] = place;
}
