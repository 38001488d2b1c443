/** Reads a log piece after piece and gives each line once. */
import type { LogLine } from "../kube.ts";
import type { Lines } from "./lines.ts";
import { createLogMemory, timeOf } from "./log-memory.ts";

interface Asked {
  readonly follow?: boolean | undefined;
  /** Of the container before this one, of which the kubelet's own words say nothing that anybody wants to know. */
  readonly previous?: boolean | undefined;
}

/** `open` asks for a piece of it, every line with its time. */
export function createLogReader<Reading extends Asked>(open: (reading: Reading) => AsyncIterable<Lines>) {
  const memory = createLogMemory();
  let time = "";
  /** By a kubelet itself, last. */
  let said = "";
  let news = 0;
  /** In the middle of which the last piece ended. */
  let broken: Lines | undefined;

  function newOf({ texts, isRest }: Lines, withWords = true): LogLine[] {
    const lines: LogLine[] = [];
    for (const [index, text] of texts.entries()) {
      const goesOn = isRest && index === 0;
      const own = goesOn ? time : timeOf(text);
      if (own === undefined) {
        if (withWords && text !== said) lines.push({ time, text });
        if (withWords) said = text;
        continue;
      }
      time = own;
      if (!memory.isNew(own)) continue;
      // A kubelet that fails says so every time anew; only a line of the container is news.
      news += 1;
      lines.push({ time, text: goesOn ? text : text.slice(own.length + 1) });
    }
    return lines;
  }

  return {
    /** From where the next piece of it is wanted; undefined before any line. */
    get since(): string | undefined {
      return memory.since;
    },
    /** Lines of the container in the last piece. */
    get news(): number {
      return news;
    },

    async *read(reading: Reading): AsyncGenerator<readonly LogLine[]> {
      [news, broken] = [0, undefined];
      // Even of the next container: its lines are later than all that was read, unless it is the same one after all.
      memory.expectAgain();
      for await (const lines of open(reading)) {
        // Where the container goes on, it comes again as a whole.
        const isHeld = lines.isBroken && reading.follow;
        if (isHeld) broken = lines;
        const batch = isHeld ? [] : newOf(lines, !reading.previous);
        if (batch.length > 0) yield batch;
      }
    },

    /** Goes to the end of a piece, and gives nothing of it. */
    async skip(reading: Reading): Promise<void> {
      for await (const lines of open(reading)) newOf(lines);
    },

    /** The container has ended, and with it the line that it was in. */
    unended(): readonly LogLine[] {
      return broken ? newOf(broken) : [];
    },
  };
}
