/** The journal as the rest of the program sees it: what we decided and did, in one file that survives us. */
import { statSync } from "node:fs";
import type { Boundary } from "../runtime/boundary.ts";
import type { ProviderError } from "../runtime/errors.ts";
import type { Connection } from "./connection.ts";
import type { Lock } from "./lock.ts";
import type { Retention } from "./retention.ts";
import type { TableName, TableReads, Tables } from "./tables.ts";
import type { Unit, Writer, WriterCounts } from "./writer.ts";

export interface Journal {
  /** Writes a unit of work; resolves when it is safe from a power cut. For intents and all that must not be lost. */
  durable<T>(label: string, unit: Unit<T>): Promise<T>;
  /** Writes a unit of work in company; a power cut, but not our death, may lose the last moments of these. */
  relaxed<T>(label: string, unit: Unit<T>): Promise<T>;
  /** Reads what is committed; inside a unit, its tables also show every unit filed before it. */
  readonly read: TableReads;
  /** Resolves, never rejects, when storage failed and the process must end. */
  readonly died: Promise<ProviderError>;
  readonly counts: Readonly<WriterCounts>;
  /** Rows per table, counted now. */
  rows(): Record<TableName, number>;
  /** What the file and its log take on disk. */
  bytes(): number;
  /** Settles the units that wait, then lets go of file and lock. */
  close(): Promise<void>;
}

export interface JournalParts {
  readonly path: string;
  readonly connection: Connection;
  readonly tables: Tables;
  readonly writer: Writer;
  readonly retention: Retention;
  readonly lock: Lock;
  readonly boundary: Boundary;
}

export function createJournal(parts: JournalParts): Journal {
  const { path, connection, tables, writer, retention, lock, boundary } = parts;
  const countRows = Object.keys(tables).map((name) => ({
    name,
    count: connection.one<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`),
  }));
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    await Promise.all([retention.stop(), writer.drain()]);
    try {
      boundary.cross("journal", "close:before");
    } finally {
      connection.close();
      lock.release();
    }
    boundary.cross("journal", "close:after");
  }

  return {
    durable: writer.durable,
    relaxed: writer.relaxed,
    read: tables,
    died: writer.died,
    counts: writer.counts,
    rows() {
      const entries = countRows.map(({ name, count }) => [name, count()?.rows ?? 0]);
      return Object.fromEntries(entries) as Record<TableName, number>;
    },
    bytes: () => [path, `${path}-wal`].reduce((sum, file) => sum + sizeOf(file), 0),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** Asked by name, never by opening it: closing a second handle would drop SQLite's locks on the file (POSIX). */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
