/** Frames that are sent together are written in one buffer of their own: Node's pool would be kept alive by a slow reader. */
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/clock.ts";
/** Of frames that are written together: a TLS record, and what waits for each of many slow readers, twice with its encryption. */
export const streamChunkBytes = 16 * 1024;

/** Text as text, bytes as binary. */
type Frame = string | Uint8Array;

const [text, binary] = [0x81, 0x82];

export function createFrameWriter(socket: Socket, clock: Clock) {
  let frames: Frame[] = [];
  let begunBytes = 0;
  /** Given to the socket, and not taken yet. */
  let sentBytes = 0;
  let waiting: (PromiseWithResolvers<void> & { readonly sinceMs: number }) | undefined;

  function release(): void {
    waiting?.resolve();
    waiting = undefined;
  }

  function flush(): void {
    if (!socket.writable) frames = [];
    if (frames.length === 0) return;
    const piece = Buffer.allocUnsafeSlow(begunBytes);
    let at = 0;
    for (const frame of frames) at = put(frame, piece, at);
    [frames, begunBytes] = [[], 0];
    sentBytes += piece.length;
    socket.write(piece, () => {
      sentBytes -= piece.length;
      if (sentBytes === 0) release();
    });
  }

  return {
    write(frame: Frame): void {
      if (frames.length === 0) process.nextTick(flush);
      frames.push(frame);
      const size = Buffer.byteLength(frame);
      begunBytes += headBytes(size) + size;
      if (begunBytes >= streamChunkBytes) flush();
    },
    /** What was written and is not on its way yet goes now. */
    flush,
    /** Undefined: there is room for more; else wait for it before the next frame. */
    room(): Promise<void> | undefined {
      if (sentBytes < streamChunkBytes) return undefined;
      waiting ??= { ...Promise.withResolvers<void>(), sinceMs: clock.monotonicMs() };
      return waiting.promise;
    },
    /** Nobody waits for room any more. */
    release,
    /** For how long the same bytes have waited to be taken. */
    waitedMs: () => (waiting ? clock.monotonicMs() - waiting.sinceMs : 0),
  };
}

function put(frame: Frame, piece: Buffer, at: number): number {
  const size = Buffer.byteLength(frame);
  const start = at + headBytes(size);
  piece[at] = typeof frame === "string" ? text : binary;
  if (start - at === 2) piece[at + 1] = size;
  else if (start - at === 4) {
    piece[at + 1] = 126;
    piece.writeUInt16BE(size, at + 2);
  } else {
    piece[at + 1] = 127;
    piece.writeBigUInt64BE(BigInt(size), at + 2);
  }
  if (typeof frame === "string") piece.write(frame, start);
  else piece.set(frame, start);
  return start + size;
}

function headBytes(size: number): number {
  return size < 126 ? 2 : size < 65_536 ? 4 : 10;
}
