/** The lines of an answer while they come. Nothing more is read from the wire until the last ones were taken. */
import type { Readable } from "node:stream";
import { type Clock, withDeadline } from "../../runtime/clock.ts";

/** The server said nothing for too long: the connection may be dead without knowing it. */
export class Silence extends Error {
  constructor(silenceMs: number) {
    super(`silent for ${silenceMs} ms`);
  }
}

export interface LineOptions {
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
  let rest: Buffer = Buffer.alloc(0);
  try {
    for (;;) {
      const chunk = await nextOf(chunks, options);
      if (chunk.done) break;
      const bytes = rest.length === 0 ? chunk.value : Buffer.concat([rest, chunk.value]);
      const end = bytes.lastIndexOf(newline);
      rest = bytes.subarray(end + 1);
      const lines = end < 0 ? [] : bytes.toString("utf8", 0, end).split("\n");
      if (rest.length > options.mostBytes) {
        if (options.tooLong === "fail") throw new Error(`a line of more than ${options.mostBytes} bytes`);
        lines.push(rest.toString());
        rest = Buffer.alloc(0);
      }
      if (lines.length > 0) yield lines;
    }
    if (rest.length > 0) yield [rest.toString()];
  } finally {
    body.destroy();
  }
}

function nextOf(chunks: AsyncIterator<Buffer>, { clock, silenceMs }: LineOptions): Promise<IteratorResult<Buffer>> {
  return withDeadline(clock, silenceMs, chunks.next(), () => {
    throw new Silence(silenceMs);
  });
}
