/** Finds out which client a connection belongs to, also behind proxies. */

import type { X509Certificate } from "node:crypto";
import { BlockList, isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** Where somebody comes from, as far as he cannot choose it: who has an address of version 6 has some 2⁶⁴ of them. */
export function rateLimitKeyOfAddress(address: string): string {
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
export function rateLimitKeyOf(socket: Socket | undefined): string {
  return (socket as Placed | undefined)?.[ownPlace] ?? rateLimitKeyOfAddress(socket?.remoteAddress ?? "");
}

/** Where its address alone does not say it, as behind a proxy. */
function setPlace(socket: Socket, place: string): void {
  (socket as Placed)[ownPlace] = place;
}

export interface ProxyOptions {
  /** Ranges from which every connection begins with a header of the PROXY protocol. */
  readonly proxyProtocolFrom?: readonly string[];
  /** Ranges of which each address stands for many clients: of theirs, every connection counts as a client of its own. */
  readonly trustedProxies?: readonly string[];
}

export function createRateLimitKeys({ proxyProtocolFrom = [], trustedProxies = [] }: ProxyOptions) {
  const [speaking, shared] = [listOf(proxyProtocolFrom), listOf(trustedProxies)];
  const sockets = new Map<string, Socket>();
  return {
    sendsHeader: ({ remoteAddress = "" }: Socket) => isIn(speaking, remoteAddress),
    /** Of a new connection, from the address that its proxy names or from its own. */
    place(socket: Socket, named?: string): void {
      const address = named ?? socket.remoteAddress ?? "";
      const key = otherEnd(socket);
      setPlace(socket, isIn(shared, address) ? key : rateLimitKeyOfAddress(address));
      sockets.set(key, socket);
      socket.once("close", () => sockets.delete(key));
    },
    /** The same after the handshake, whose socket is another object; the one below it. */
    placeSecured(socket: TLSSocket): Socket | undefined {
      const below = sockets.get(otherEnd(socket));
      if (below) setPlace(socket, rateLimitKeyOf(below));
      return below;
    },
  };
}

/** The port alone is not enough: one of ours may be reached at several addresses. */
function otherEnd({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress}#${remotePort}>${localAddress}`;
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    list.addSubnet(address, Number(prefix), isIPv6(address) ? "ipv6" : "ipv4");
  }
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  return list.rules.length > 0 && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** One is good and more are refused, so there is no need to count on. */
const most = 3;
const none: readonly Uint8Array[] = [];
const known = new WeakMap<TLSSocket, readonly Uint8Array[]>();

export function presentedCertificates(socket: TLSSocket): readonly Uint8Array[] {
  const before = known.get(socket);
  if (before) return before;
  const read = readCertificates(socket);
  known.set(socket, read);
  return read;
}

function readCertificates(socket: TLSSocket): readonly Uint8Array[] {
  const first = socket.getPeerX509Certificate();
  if (!first) return none;
  const presented: Uint8Array[] = [];
  let next: X509Certificate | undefined = first;
  while (next && presented.length < most) {
    presented.push(next.raw);
    next = next.issuerCertificate;
  }
  return presented;
}
