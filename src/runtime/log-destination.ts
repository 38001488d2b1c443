/** Where log lines go: a stream that may be slow, closed or full, none of which may stop the program. */
import type { Writable } from "node:stream";
import { systemCodeOf } from "./errors.ts";
/** Lines that wait for a slow reader; then lines are dropped and counted. */
export const logBufferedBytes = 8 * 1024 * 1024;

export interface LogDestination {
  write(line: string): void;
  /** Lines that never got out. */
  readonly lost: number;
}

export function streamDestination(stream: Writable): LogDestination {
  let lost = 0;
  let gone = false;
  stream.on("error", (error) => {
    lost += 1;
    // Whoever read the lines has left and does not come back; a full disk may get room again.
    gone ||= systemCodeOf(error) === "EPIPE" || stream.destroyed;
  });
  return {
    write(line) {
      if (gone || stream.writableLength > logBufferedBytes) lost += 1;
      else stream.write(line);
    },
    get lost() {
      return lost;
    },
  };
}
