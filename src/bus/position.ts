/** How far a stream was read, and what went missing on the way. */
import { beginning } from "./redis-store.ts";

export interface Position {
  /** The id to read after. */
  readonly cursor: string;
  /** Ids of the last entries read, the newest first. */
  readonly recentIds: string[];
  pass(id: string): void;
  /** Notes the number of a message within its topic; returns how many before it never arrived. */
  count(topic: string, number: number): number;
  /** Reads on from an earlier entry, since those after it are not in the stream any more. */
  stepBack(id: string): void;
}

export function createPosition(
  lastId: string,
  numbers: Map<string, number>,
  most: { ids: number; topics: number },
): Position {
  /** The newest last. */
  let ids = lastId === beginning ? [] : [lastId];
  return {
    get cursor() {
      return ids.at(-1) ?? beginning;
    },
    get recentIds() {
      return ids.slice(-most.ids).reverse();
    },
    pass(id) {
      ids.push(id);
      if (ids.length >= 2 * most.ids) ids = ids.slice(-most.ids);
    },
    count(topic, number) {
      if (!numbers.has(topic) && numbers.size >= most.topics) return 0;
      const expected = (numbers.get(topic) ?? 0) + 1;
      numbers.set(topic, number);
      // A smaller number than expected is a message that comes again, or a Redis that began anew.
      return Math.max(0, number - expected);
    },
    stepBack(id) {
      ids = ids.slice(0, ids.lastIndexOf(id) + 1);
    },
  };
}
