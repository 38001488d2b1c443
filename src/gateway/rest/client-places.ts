/** Finds out which client a connection belongs to, also behind proxies. */
import { BlockList, isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { placeOf, placeOfSocket, setPlace } from "../auth/place.ts";

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
  /** The same after the handshake, whose socket is another object; the one below it. */
  placeSecured(socket: TLSSocket): Socket | undefined;
}

export function createClientPlaces({ proxyProtocolFrom = [], trustedProxies = [] }: ProxyOptions): ClientPlaces {
  const [speaking, shared] = [listOf(proxyProtocolFrom), listOf(trustedProxies)];
  /** By the other end of the connection, as both sockets see it. */
  const sockets = new Map<string, Socket>();
  return {
    sendsHeader: ({ remoteAddress = "" }) => isIn(speaking, remoteAddress),
    place(socket, named) {
      const address = named ?? socket.remoteAddress ?? "";
      const key = otherEnd(socket);
      setPlace(socket, isIn(shared, address) ? key : placeOf(address));
      sockets.set(key, socket);
      socket.once("close", () => sockets.delete(key));
    },
    placeSecured(socket) {
      const below = sockets.get(otherEnd(socket));
      if (below) setPlace(socket, placeOfSocket(below));
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
