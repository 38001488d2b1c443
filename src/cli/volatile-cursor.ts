/** A place for the follower's cursor that ends with the command: nobody takes up `events` where it was left. */
import type { Journal } from "../journal/journal.ts";
import type { Tables } from "../journal/tables.ts";

export function createVolatileCursor(): Pick<Journal, "relaxed" | "read"> {
  const heights = new Map<string, bigint>();
  const cursor = {
    get: (chainId: string) => heights.get(chainId),
    set: (chainId: string, height: bigint) => void heights.set(chainId, height),
  };
  // The follower touches no other table.
  const tables = { cursor } as Tables;
  return { read: tables, relaxed: async (_, unit) => unit(tables) };
}
