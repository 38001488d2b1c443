/** The lines of an answer while they come. Nothing more is read from the wire until the last ones were taken. */
import type { Readable } from "node:stream";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";

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

/** Several lines at a time, as they came in. */
export async function* linesOf(body: Readable, options: LineOptions): AsyncGenerator<Lines> {
  const { mostBytes, tooLong } = options;
  const pieces = piecesOf(body, options);
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

  try {
    for (;;) {
      const chunk = pieces.read() ?? (await pieces.next());
      if (chunk === undefined) break;
      const end = chunk.lastIndexOf(newline);
      if (end >= 0) {
        const whole = begunBytes > 0 ? Buffer.concat([...begun, chunk.subarray(0, end)]) : chunk.subarray(0, end);
        yield* ended(whole);
        [begun, begunBytes] = [[], 0];
      }
      const rest = end < 0 ? chunk : chunk.subarray(end + 1);
      if (rest.length === 0) continue;
      begun.push(rest);
      begunBytes += rest.length;
      if (begunBytes > mostBytes) yield* cut(Buffer.concat(begun));
    }
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

/** What has come in, much of it at once: a server may send every line by itself. */
function piecesOf(body: Readable, { clock, silenceMs }: LineOptions) {
  let isOver = false;
  let wake: (() => void) | undefined;
  const news = () => wake?.();
  const ended = () => {
    isOver = true;
    news();
  };
  body.on("readable", news).on("end", ended).on("error", ended).on("close", ended);
  const read = (): Buffer | undefined => {
    const size = Math.min(body.readableLength, limits.kubePieceBytes);
    return body.read(size > 0 ? size : undefined) ?? undefined;
  };

  return {
    read,
    /** Undefined at the end. */
    async next(): Promise<Buffer | undefined> {
      for (;;) {
        const piece = read();
        if (piece !== undefined) return piece;
        if (body.errored) throw body.errored;
        if (body.readableEnded) return undefined;
        if (isOver || body.destroyed) throw new Error("the answer broke off");
        await new Promise<void>((resolve, reject) => {
          const timer: Timer = clock.timer(silenceMs, () => reject(new Silence(silenceMs)));
          wake = () => {
            timer.cancel();
            resolve();
          };
        });
        wake = undefined;
      }
    },
    close(): void {
      body.off("readable", news);
      body.destroy();
    },
  };
}
