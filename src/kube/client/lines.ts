/** The lines of a response as they come, with back-pressure. */
import type { Readable } from "node:stream";
import { chunksOf } from "../../runtime/chunks.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ownCopy } from "../../runtime/own-copy.ts";

/** Chunk size of a response read by lines: some hundred lines, and twice as much is held for each slow reader. */
export const kubePieceBytes = 8 * 1024;

/** No data for too long: the connection may be dead. */
export class Silence extends Error {
  constructor(silenceMs: number) {
    super(`silent for ${silenceMs} ms`);
  }
}

export class TooLong extends Error {
  constructor(mostBytes: number) {
    super(`a line of more than ${mostBytes} bytes`);
  }
}

interface LineOptions {
  readonly clock: Clock;
  readonly silenceMs: number;
  readonly mostBytes: number;
  /** Of a longer line. It is cut at the same places however it is chunked. */
  readonly tooLong: "fail" | "cut";
}

export interface Lines {
  readonly texts: readonly string[];
  /** The first text continues the last one before, which was cut. */
  readonly isRest: boolean;
  /** The response ended within the last text. */
  readonly isBroken: boolean;
}

const newline = 0x0a;

/** Lines in batches. While the consumer waits, only the lines are held: their bytes stay in functions that have returned. */
export async function* linesOf(body: Readable, options: LineOptions): AsyncGenerator<Lines> {
  const { mostBytes, tooLong, clock, silenceMs } = options;
  const pieces = chunksOf(body, kubePieceBytes);
  /** Chunks of the unfinished line, joined at its end, or a long line would be copied with every chunk. */
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let isRest = false;

  function* cut(line: Buffer): Generator<Lines> {
    if (tooLong === "fail") throw new TooLong(mostBytes);
    let from = 0;
    for (
      let end = cutAt(line, mostBytes);
      from < line.length && end < line.length;
      end = cutAt(line, from + mostBytes)
    ) {
      yield { texts: [line.toString("utf8", from, end)], isRest, isBroken: false };
      isRest = true;
      from = end;
    }
    begun = [line.subarray(from)];
    begunBytes = line.length - from;
  }

  /** `bytes` ends where a line does. */
  function* ended(bytes: Buffer): Generator<Lines> {
    if (bytes.length <= mostBytes) {
      yield { texts: bytes.toString().split("\n"), isRest, isBroken: false };
      isRest = false;
      return;
    }
    for (let from = 0; from <= bytes.length; ) {
      const found = bytes.indexOf(newline, from);
      const end = found < 0 ? bytes.length : found;
      let line = bytes.subarray(from, end);
      if (line.length > mostBytes && tooLong === "cut") {
        yield* cut(line);
        line = Buffer.concat(begun);
      }
      yield { texts: [line.toString()], isRest, isBroken: false };
      isRest = false;
      from = end + 1;
    }
  }

  function* linesIn(chunk: Buffer): Generator<Lines> {
    const end = chunk.lastIndexOf(newline);
    if (end >= 0) {
      yield* ended(begunBytes > 0 ? Buffer.concat([...begun, chunk.subarray(0, end)]) : chunk.subarray(0, end));
      [begun, begunBytes] = [[], 0];
    }
    if (end + 1 === chunk.length) return;
    // Copied, since the end of a line is short, and would keep all that came with it.
    begun.push(end < 0 ? chunk : ownCopy(chunk.subarray(end + 1)));
    begunBytes += chunk.length - end - 1;
    if (begunBytes > mostBytes) yield* cut(Buffer.concat(begun));
  }

  /** Of the data at hand; undefined where there is none. */
  function next(): readonly Lines[] | undefined {
    const chunk = pieces.read();
    return chunk && [...linesIn(chunk)];
  }

  async function more(): Promise<boolean> {
    const timer = clock.timer(silenceMs, () => pieces.giveUp(new Silence(silenceMs)));
    try {
      return await pieces.more();
    } finally {
      timer.cancel();
    }
  }

  try {
    do {
      for (let lines = next(); lines; lines = next()) for (const each of lines) yield each;
    } while (await more());
    if (begunBytes > 0) yield { texts: [Buffer.concat(begun).toString()], isRest, isBroken: true };
  } finally {
    pieces.close();
  }
}

/** Not within a character. */
function cutAt(line: Buffer, at: number): number {
  let end = at;
  while (end > at - 4 && ((line[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}
