/** What a WebSocket's client sends, byte by byte. */
import type { GatewayRequest } from "./gateway-client.ts";

/** The key of the recorded requests, and the answer to it. */
export const upgradeHeaders: NonNullable<GatewayRequest["headers"]> = [
  ["Upgrade", "websocket"],
  ["Connection", "Upgrade"],
  ["Sec-WebSocket-Version", "13"],
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
];

export const frameTypes = { 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong" } as const;

export interface Frame {
  readonly type: "text" | "binary" | "close" | "ping" | "pong";
  readonly bytes: Buffer;
}

export function clientFrame(type: Frame["type"], payload: string | Uint8Array): Buffer {
  const code = Number(Object.entries(frameTypes).find(([, name]) => name === type)?.[0]);
  const bytes = Buffer.from(payload);
  const size =
    bytes.length < 126 ? Buffer.of(0x80 | bytes.length) : Buffer.of(0x80 | 126, bytes.length >> 8, bytes.length & 255);
  // A mask of zeros leaves the bytes as they are.
  return Buffer.concat([Buffer.of(0x80 | code), size, Buffer.alloc(4), bytes]);
}
