/** The lines of an answer while they come. Nothing more is read from the wire until the last ones were taken. */
import type { Readable } from "node:stream";
import { chunksOf } from "../../runtime/chunks.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ownCopy } from "../../runtime/own-copy.ts";

/** Of an answer that is read line by line, at a time: some hundred lines, and twice as much is held for each of many slow readers. */
export const kubePieceBytes = 8 * 1024;

/** The server said nothing for too long: the connection may be dead without knowing it. */
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
  /** What to do with a line that is longer. It is always cut at the same places, however it comes in. */
  readonly tooLong: "fail" | "cut";
}

export interface Lines {
  readonly texts: readonly string[];
  /** The first of them goes on with the last one before it, which was cut. */
  readonly isRest: boolean;
  /** The answer ended in the middle of the last of them. */
  readonly isBroken: boolean;
}

const newline = 0x0a;

/** Several lines at a time. While the consumer waits, only the lines are held: their bytes stay in functions that have returned. */
export async function* linesOf(body: Readable, options: LineOptions): AsyncGenerator<Lines> {
  const { mostBytes, tooLong, clock, silenceMs } = options;
  const pieces = chunksOf(body, kubePieceBytes);
  /** What came of the line that has not ended; joined only then, or a long line would be copied with every piece of it. */
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

  /** Of what is there now; undefined where nothing is. */
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
