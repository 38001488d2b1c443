/** Rate limit keys of clients, also behind proxies, and the certificates that they present. */
import { BlockList, isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** The IPv4 address, or the /64 of an IPv6 address, within which a client can choose freely. */
export function rateLimitKeyOfAddress(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = [], tail = []] = address.split("::").map((groups) => groups.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

/** A property, so that it is found through the proxy object that HTTP/2 gives for its socket. */
const keyProperty = Symbol("rate limit key");

type Keyed = Socket & { [keyProperty]?: string };

export function rateLimitKeyOf(socket: Socket | undefined): string {
  return (socket as Keyed | undefined)?.[keyProperty] ?? rateLimitKeyOfAddress(socket?.remoteAddress ?? "");
}

export interface ProxyOptions {
  /** CIDR ranges from which connections begin with a PROXY protocol header. */
  readonly proxyProtocolFrom?: readonly string[];
  /** CIDR ranges of proxies in front of many clients: each of their connections has a key of its own. */
  readonly trustedProxies?: readonly string[];
}

export function createRateLimitKeys({ proxyProtocolFrom = [], trustedProxies = [] }: ProxyOptions) {
  const [withHeader, shared] = [listOf(proxyProtocolFrom), listOf(trustedProxies)];
  const sockets = new Map<string, Socket>();
  return {
    sendsHeader: ({ remoteAddress = "" }: Socket) => isIn(withHeader, remoteAddress),
    /** For a new connection; `address` is the client's as given by its proxy. */
    assign(socket: Socket, address = socket.remoteAddress ?? ""): void {
      const id = connectionId(socket);
      (socket as Keyed)[keyProperty] = isIn(shared, address) ? id : rateLimitKeyOfAddress(address);
      sockets.set(id, socket);
      socket.once("close", () => sockets.delete(id));
    },
    /** After the TLS handshake, whose socket is another object; returns the TCP socket. */
    assignSecured(socket: TLSSocket): Socket | undefined {
      const below = sockets.get(connectionId(socket));
      if (below) (socket as Keyed)[keyProperty] = rateLimitKeyOf(below);
      return below;
    },
  };
}

/** With the local address, as the listener may be reached at several. */
function connectionId({ remoteAddress, remotePort, localAddress }: Socket): string {
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

const presented = new WeakMap<TLSSocket, readonly Uint8Array[]>();

/** Two at most: more than one is an error. */
export function presentedCertificates(socket: TLSSocket): readonly Uint8Array[] {
  const known = presented.get(socket);
  if (known) return known;
  const leaf = socket.getPeerX509Certificate();
  const certificates = [leaf, leaf?.issuerCertificate].flatMap((each) => each?.raw ?? []);
  presented.set(socket, certificates);
  return certificates;
}
