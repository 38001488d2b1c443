/**
 * The header by which a proxy names its client, before the client's first byte: PROXY protocol, version 1 (text) and 2 (binary),
 * https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt.
 */
import { isIP } from "node:net";

type ProxyHeader =
  /** Without an address the connection is the proxy's own, as one of its health checks. */
  | { readonly kind: "header"; readonly length: number; readonly address: string | undefined }
  | { readonly kind: "unfinished" }
  | { readonly kind: "garbage" };

const [unfinished, garbage] = [{ kind: "unfinished" }, { kind: "garbage" }] as const;
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const textStart = Buffer.from("PROXY ");
/** As the protocol has it, with its line end. */
const textBytes = 107;
const fixedBytes = 16;
const [local, proxied] = [0, 1];
/** Of the families that have addresses, how long the two are with their ports. */
const addressBytes: Readonly<Record<number, number>> = { 1: 12, 2: 36 };
/** An address of version 4 in one of version 6. */
const mapped = Buffer.from("00000000000000000000ffff", "hex");

export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsAs(bytes, signature)) return bytes.length < fixedBytes ? unfinished : readBinary(bytes);
  return beginsAs(bytes, textStart) ? readText(bytes) : garbage;
}

function beginsAs(bytes: Buffer, beginning: Buffer): boolean {
  const length = Math.min(bytes.length, beginning.length);
  return bytes.compare(beginning, 0, length, 0, length) === 0;
}

function readText(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, textBytes).indexOf("\r\n");
  if (end < 0) return bytes.length < textBytes ? unfinished : garbage;
  const [, family, address = ""] = bytes.toString("latin1", 0, end).split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { kind: "header", length, address: undefined };
  const version = { TCP4: 4, TCP6: 6 }[family ?? ""];
  return version !== undefined && isIP(address) === version ? { kind: "header", length, address } : garbage;
}

function readBinary(bytes: Buffer): ProxyHeader {
  const [version, command] = [bytes.readUInt8(12) >> 4, bytes.readUInt8(12) & 15];
  if (version !== 2 || (command !== local && command !== proxied)) return garbage;
  const length = fixedBytes + bytes.readUInt16BE(14);
  const family = bytes.readUInt8(13) >> 4;
  const least = command === proxied ? addressBytes[family] : undefined;
  if (least !== undefined && length < fixedBytes + least) return garbage;
  // What stands behind the addresses says nothing that is of use here.
  if (bytes.length < length) return unfinished;
  return { kind: "header", length, address: least === undefined ? undefined : addressIn(bytes, family) };
}

function addressIn(bytes: Buffer, family: number): string {
  if (family === 1) return bytes.subarray(fixedBytes, fixedBytes + 4).join(".");
  const address = bytes.subarray(fixedBytes, fixedBytes + 16);
  if (address.subarray(0, 12).equals(mapped)) return address.subarray(12).join(".");
  return (address.toString("hex").match(/.{4}/g) ?? []).join(":");
}
