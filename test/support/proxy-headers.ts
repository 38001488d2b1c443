/** PROXY protocol as proxies send it, for connections to port 443 of 198.51.100.1 or 2001:db8::1. */
import { isIPv4 } from "node:net";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { connectGateway, connectPlain } from "./gateway-client.ts";

interface Parts {
  readonly version?: number;
  readonly command?: number;
  readonly family?: number;
  readonly more?: Buffer;
}

export function textProxyHeader(address: string): Buffer {
  return Buffer.from(
    isIPv4(address)
      ? `PROXY TCP4 ${address} 198.51.100.1 56324 443\r\n`
      : `PROXY TCP6 ${address} 2001:db8::1 56324 443\r\n`,
  );
}

/** An address of version 6 has all of its groups. */
export function binaryProxyHeader(address: string, parts: Parts = {}): Buffer {
  const { version = 2, command = 1, family = isIPv4(address) ? 1 : 2, more = Buffer.alloc(0) } = parts;
  const source = isIPv4(address)
    ? Buffer.from(address.split(".").map(Number))
    : Buffer.from(address.replaceAll(/[^:]+/g, (group) => group.padStart(4, "0")).replaceAll(":", ""), "hex");
  const body = Buffer.concat([source, Buffer.alloc(source.length, 1), Buffer.of(0xdc, 4, 1, 0xbb), more]);
  const head = Buffer.from("\r\n\r\n\0\r\nQUIT\n....", "latin1");
  head[12] = version * 16 + command;
  head[13] = family * 16 + 1;
  head.writeUInt16BE(body.length, 14);
  return Buffer.concat([head, body]);
}

/** A client's connection, with its TLS inside of what the proxy opened. */
export async function connectThrough(port: number, header: Buffer, tls: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = await connectPlain(port);
  socket.removeAllListeners("error").on("error", () => undefined);
  socket.setNoDelay(true);
  socket.write(header);
  return connectGateway({ port, tls: { ...tls, socket } });
}
