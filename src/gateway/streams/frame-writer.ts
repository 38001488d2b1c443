/** Writes frames in batches, in buffers of their own: a slow reader would keep Node's buffer pool alive. */
import type { Socket } from "node:net";
import type { Clock } from "../../runtime/clock.ts";

/** Size of a batch: a TLS record. So much waits for each slow reader, twice with its encryption. */
export const streamChunkBytes = 16 * 1024;

/** Text as text, bytes as binary. */
type Frame = string | Uint8Array;

const [text, binary] = [0x81, 0x82];

export function createFrameWriter(socket: Socket, clock: Clock) {
  let frames: Frame[] = [];
  let batchBytes = 0;
  /** Written to the socket, and not flushed yet. */
  let pendingBytes = 0;
  let waiting: (PromiseWithResolvers<void> & { readonly sinceMs: number }) | undefined;

  function release(): void {
    waiting?.resolve();
    waiting = undefined;
  }

  function flush(): void {
    if (!socket.writable) frames = [];
    if (frames.length === 0) return;
    const batch = Buffer.allocUnsafeSlow(batchBytes);
    let at = 0;
    for (const frame of frames) at = put(frame, batch, at);
    [frames, batchBytes] = [[], 0];
    pendingBytes += batch.length;
    socket.write(batch, () => {
      pendingBytes -= batch.length;
      if (pendingBytes === 0) release();
    });
  }

  return {
    write(frame: Frame): void {
      if (frames.length === 0) process.nextTick(flush);
      frames.push(frame);
      const size = Buffer.byteLength(frame);
      batchBytes += headBytes(size) + size;
      if (batchBytes >= streamChunkBytes) flush();
    },
    flush,
    /** To be awaited before the next frame; undefined where there is room. */
    room(): Promise<void> | undefined {
      if (pendingBytes < streamChunkBytes) return undefined;
      waiting ??= { ...Promise.withResolvers<void>(), sinceMs: clock.monotonicMs() };
      return waiting.promise;
    },
    release,
    /** For how long bytes have waited to be flushed. */
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
