/** The lines of an answer while they come. Nothing more is read from the wire until the last ones were taken. */
import type { Readable } from "node:stream";
import { type Clock, withDeadline } from "../../runtime/clock.ts";

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
  /** What to do with a line that is longer. */
  readonly tooLong: "fail" | "cut";
}

const newline = 0x0a;

/** Several lines at a time, as they came in. */
export async function* linesOf(body: Readable, options: LineOptions): AsyncGenerator<string[]> {
  const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  /** What came of the line that has not ended; joined only then, or a long line would be copied with every piece of it. */
  let begun: Buffer[] = [];
  let begunBytes = 0;
  try {
    for (;;) {
      const chunk = await nextOf(chunks, options);
      if (chunk.done) break;
      const end = chunk.value.lastIndexOf(newline);
      const lines =
        end < 0
          ? []
          : Buffer.concat([...begun, chunk.value.subarray(0, end)])
              .toString()
              .split("\n");
      if (end >= 0) [begun, begunBytes] = [[], 0];
      const rest = chunk.value.subarray(end + 1);
      begun.push(rest);
      begunBytes += rest.length;
      if (begunBytes > options.mostBytes) {
        if (options.tooLong === "fail") throw new TooLong(options.mostBytes);
        lines.push(Buffer.concat(begun).toString());
        [begun, begunBytes] = [[], 0];
      }
      if (lines.length > 0) yield lines;
    }
    if (begunBytes > 0) yield [Buffer.concat(begun).toString()];
  } finally {
    body.destroy();
  }
}

function nextOf(chunks: AsyncIterator<Buffer>, { clock, silenceMs }: LineOptions): Promise<IteratorResult<Buffer>> {
  return withDeadline(clock, silenceMs, chunks.next(), () => {
    throw new Silence(silenceMs);
  });
}
