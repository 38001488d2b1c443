/** Finds out which client a connection belongs to, also behind proxies. */
import { BlockList, isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { placeOf, setPlace } from "../auth/place.ts";

export interface ProxyOptions {
  /** Ranges from which every connection begins with a header of the PROXY protocol. */
  readonly proxyProtocolFrom?: readonly string[];
  /** Ranges of which each address stands for many clients: of theirs, every connection counts as a client of its own. */
  readonly trustedProxies?: readonly string[];
}

interface ClientPlaces {
  sendsHeader(socket: Socket): boolean;
  /** Of a new connection, from the address that its proxy names or from its own. */
  place(socket: Socket, named?: string): void;
  /** The same after the handshake, whose socket is another object. */
  placeSecured(socket: TLSSocket): void;
}

export function createClientPlaces({ proxyProtocolFrom = [], trustedProxies = [] }: ProxyOptions): ClientPlaces {
  const [speaking, shared] = [listOf(proxyProtocolFrom), listOf(trustedProxies)];
  /** By the other end of the connection, as both sockets see it. */
  const places = new Map<string, string>();
  return {
    sendsHeader: ({ remoteAddress = "" }) => isIn(speaking, remoteAddress),
    place(socket, named) {
      const address = named ?? socket.remoteAddress ?? "";
      const key = otherEnd(socket);
      const place = isIn(shared, address) ? key : placeOf(address);
      setPlace(socket, place);
      places.set(key, place);
      socket.once("close", () => places.delete(key));
    },
    placeSecured(socket) {
      const place = places.get(otherEnd(socket));
      if (place !== undefined) setPlace(socket, place);
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
