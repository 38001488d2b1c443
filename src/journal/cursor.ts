/** How far we have followed each chain. */
import type { Sql } from "./connection.ts";

export interface CursorReads {
  /** The last height that was worked through, or undefined on a chain never followed. */
  get(chainId: string): bigint | undefined;
}

export interface Cursor extends CursorReads {
  set(chainId: string, height: bigint): void;
}

export function createCursor(sql: Sql): Cursor {
  const get = sql.one<{ height: bigint }>("SELECT height FROM cursor WHERE chain_id = ?", { bigints: true });
  const set = sql.run(
    "INSERT INTO cursor (chain_id, height) VALUES (?, ?) ON CONFLICT (chain_id) DO UPDATE SET height = excluded.height",
  );
  return {
    get: (chainId) => get(chainId)?.height,
    set(chainId, height) {
      set(chainId, height);
    },
  };
}
