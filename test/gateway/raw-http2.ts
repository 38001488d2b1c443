/** HTTP/2 frame by frame, for clients that do what no library lets them, or have to cost little. */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;
export const frameHeadBytes = 9;
export const greeting = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function rawFrame(type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Each header as a literal without indexing; names and values are short ASCII. */
export function headerBlock(path: string): Buffer {
  const headers = [
    [":method", "POST"],
    [":scheme", "https"],
    [":path", path],
    [":authority", "provider"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ];
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  return Buffer.concat(headers.flatMap(([name = "", value = ""]) => [Buffer.of(0), text(name), text(value)]));
}

/** Through its handshake, with nothing said yet. */
export async function connectRaw(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  return socket;
}
