/** Chunks of a stream, of a bounded size. Unlike the stream's own iterator it holds no chunk while it waits. */
import type { Readable } from "node:stream";

export interface Chunks {
  /** All that is there, as far as one piece may be long; undefined where nothing is. */
  read(): Buffer | undefined;
  /** Resolves when it is worth to look again, with false at the end. */
  more(): Promise<boolean>;
  /** Whoever waits for more gets this instead. */
  giveUp(reason: Error): void;
  close(): void;
}

export function chunksOf(stream: Readable, mostBytes: number): Chunks {
  let isOver = false;
  let waiting: PromiseWithResolvers<void> | undefined;
  const news = () => waiting?.resolve();
  const ended = () => {
    isOver = true;
    news();
  };
  stream.on("readable", news).on("end", ended).on("error", ended).on("close", ended);
  return {
    read() {
      const size = Math.min(stream.readableLength, mostBytes);
      return stream.read(size > 0 ? size : undefined) ?? undefined;
    },
    async more() {
      if (stream.errored) throw stream.errored;
      if (stream.readableEnded) return false;
      if (isOver || stream.destroyed) throw new Error("the answer broke off");
      waiting = Promise.withResolvers();
      await waiting.promise;
      waiting = undefined;
      return true;
    },
    giveUp: (reason) => waiting?.reject(reason),
    close() {
      stream.off("readable", news);
      stream.destroy();
    },
  };
}

/** Gives each piece to whoever takes them, the next one when that is done. */
export async function forEachChunk(pieces: Chunks, take: (piece: Buffer) => Promise<void> | undefined): Promise<void> {
  let isTaken: Promise<void> | undefined;
  /** In a function that has returned when we wait, since one that waits holds on to all that it has seen. */
  function next(): boolean {
    const piece = pieces.read();
    isTaken = piece && take(piece);
    return piece !== undefined;
  }
  do {
    while (next()) await isTaken;
  } while (await pieces.more());
}
