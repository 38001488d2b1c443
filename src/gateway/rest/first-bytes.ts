/** Reads the server name of a ClientHello before TLS: Node cannot request client certificates by server name. */
import { isIP, type Socket } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";

/** Unfinished: more bytes are needed. */
type Incomplete = { readonly kind: "unfinished" | "garbage" };
type ClientHello = { readonly kind: "hello"; readonly serverName: string | undefined };
/** Without an address the connection is the proxy's own, as for a health check. */
type ProxyHeader = { readonly kind: "header"; readonly length: number; readonly address: string | undefined };

export type FirstBytes = ClientHello | { readonly kind: "plain" };

const [unfinished, garbage] = [{ kind: "unfinished" }, { kind: "garbage" }] as const;
const [handshakeRecord, clientHello, serverNameExtension, hostName] = [22, 1, 0, 0];
/** Beginnings of plain HTTP, as in Go's TLS server. */
const plainBeginnings = ["GET /", "HEAD ", "POST ", "PUT /", "OPTIO"];

export function readClientHello(bytes: Buffer): FirstBytes | Incomplete {
  if (bytes.length === 0) return unfinished;
  if (bytes[0] !== handshakeRecord) return readPlain(bytes);
  // It may come in several records.
  const parts: Buffer[] = [];
  let size = 0;
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return garbage;
    if (bytes.length < at + 5) return unfinished;
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at + 1] !== 3 || length === 0 || length > 2 ** 14) return garbage;
    const part = bytes.subarray(at + 5, at + 5 + length);
    parts.push(part);
    size += part.length;
    if (part.length < length) break;
    at += 5 + length;
  }
  const message = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size);
  if (message.length > 0 && message[0] !== clientHello) return garbage;
  if (message.length < 4) return unfinished;
  const end = 4 + message.readUIntBE(1, 3);
  return message.length < end ? unfinished : readHello(message.subarray(4, end));
}

function readPlain(bytes: Buffer): FirstBytes | Incomplete {
  const start = bytes.toString("latin1", 0, 5);
  if (plainBeginnings.includes(start)) return { kind: "plain" };
  return plainBeginnings.some((beginning) => beginning.startsWith(start)) ? unfinished : garbage;
}

function readHello(hello: Buffer): ClientHello | Incomplete {
  const cursor = createCursor(hello);
  try {
    cursor.skip(2 + 32);
    cursor.skip(cursor.byte());
    cursor.skip(cursor.pair());
    cursor.skip(cursor.byte());
    const serverName = cursor.isAtEnd ? undefined : readServerName(createCursor(cursor.take(cursor.pair())));
    return { kind: "hello", serverName };
  } catch (error) {
    if (error instanceof RangeError) return garbage;
    throw error;
  }
}

function readServerName(extensions: ReturnType<typeof createCursor>): string | undefined {
  while (!extensions.isAtEnd) {
    const kind = extensions.pair();
    const value = createCursor(extensions.take(extensions.pair()));
    if (kind !== serverNameExtension) continue;
    const names = createCursor(value.take(value.pair()));
    while (!names.isAtEnd) {
      const isHost = names.byte() === hostName;
      const name = names.take(names.pair());
      if (isHost) return name.toString("latin1");
    }
  }
  return undefined;
}

/** Throws RangeError beyond the end. */
function createCursor(bytes: Buffer) {
  let at = 0;
  const cursor = {
    get isAtEnd() {
      return at >= bytes.length;
    },
    take(length: number): Buffer {
      if (at + length > bytes.length) throw new RangeError("it ends before");
      at += length;
      return bytes.subarray(at - length, at);
    },
    skip: (length: number): void => void cursor.take(length),
    byte: (): number => cursor.take(1).readUInt8(),
    pair: (): number => cursor.take(2).readUInt16BE(),
  };
  return cursor;
}

// PROXY protocol, version 1 (text) and 2 (binary): https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const textStart = Buffer.from("PROXY ");
const textBytes = 107;
const fixedBytes = 16;
const [local, proxied] = [0, 1];
/** Length of both addresses with their ports, by family. */
const addressBytes: Readonly<Record<number, number>> = { 1: 12, 2: 36 };
/** Prefix of an IPv4-mapped IPv6 address. */
const mapped = Buffer.from("00000000000000000000ffff", "hex");

export function readProxyHeader(bytes: Buffer): ProxyHeader | Incomplete {
  if (beginsAs(bytes, signature)) return bytes.length < fixedBytes ? unfinished : readBinary(bytes);
  return beginsAs(bytes, textStart) ? readText(bytes) : garbage;
}

function beginsAs(bytes: Buffer, beginning: Buffer): boolean {
  const length = Math.min(bytes.length, beginning.length);
  return bytes.compare(beginning, 0, length, 0, length) === 0;
}

function readText(bytes: Buffer): ProxyHeader | Incomplete {
  const end = bytes.subarray(0, textBytes).indexOf("\r\n");
  if (end < 0) return bytes.length < textBytes ? unfinished : garbage;
  const [, family, address = ""] = bytes.toString("latin1", 0, end).split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { kind: "header", length, address: undefined };
  const version = { TCP4: 4, TCP6: 6 }[family ?? ""];
  return version !== undefined && isIP(address) === version ? { kind: "header", length, address } : garbage;
}

function readBinary(bytes: Buffer): ProxyHeader | Incomplete {
  const [version, command] = [bytes.readUInt8(12) >> 4, bytes.readUInt8(12) & 15];
  if (version !== 2 || (command !== local && command !== proxied)) return garbage;
  const length = fixedBytes + bytes.readUInt16BE(14);
  const family = bytes.readUInt8(13) >> 4;
  const least = command === proxied ? addressBytes[family] : undefined;
  if (least !== undefined && length < fixedBytes + least) return garbage;
  // TLVs behind the addresses are ignored.
  if (bytes.length < length) return unfinished;
  return { kind: "header", length, address: least === undefined ? undefined : addressIn(bytes, family) };
}

function addressIn(bytes: Buffer, family: number): string {
  if (family === 1) return bytes.subarray(fixedBytes, fixedBytes + 4).join(".");
  const address = bytes.subarray(fixedBytes, fixedBytes + 16);
  if (address.subarray(0, 12).equals(mapped)) return address.subarray(12).join(".");
  return (address.toString("hex").match(/.{4}/g) ?? []).join(":");
}

/** From the first packet to the end of the handshake: a slow phone takes one second. */
export const gatewayHandshakeMs = 5 * second;
/** A ClientHello with every extension has some 3 KB. */
export const gatewayHelloBytes = 16 * 1024;

interface FirstBytesListener<T> {
  read(bytes: Buffer): T | Incomplete;
  complete(first: T, bytes: Buffer): void;
  failed(reason: "garbage" | "timeout"): void;
}

/** A connection that the client ends before is closed. */
export function readFirstBytes<T extends FirstBytes | ProxyHeader>(
  socket: Socket,
  clock: Clock,
  { read, complete, failed }: FirstBytesListener<T>,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const fail = (reason: "garbage" | "timeout") => {
    stop();
    failed(reason);
    socket.destroy();
  };
  const timer = clock.timer(gatewayHandshakeMs, () => fail("timeout"));
  const stop = () => {
    timer.cancel();
    socket.off("readable", onReadable).off("end", leave).off("close", stop);
  };
  const leave = () => {
    stop();
    socket.destroy();
  };
  function onReadable(): void {
    for (let chunk = socket.read() as Buffer | null; chunk; chunk = socket.read() as Buffer | null) {
      chunks.push(chunk);
      size += chunk.length;
    }
    const bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
    const first = read(bytes);
    if (first.kind === "unfinished" && size < gatewayHelloBytes) return;
    if (first.kind === "unfinished" || first.kind === "garbage") fail("garbage");
    else {
      stop();
      complete(first as T, bytes);
    }
  }
  socket.on("readable", onReadable).once("end", leave).once("close", stop);
}
