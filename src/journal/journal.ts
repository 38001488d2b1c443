/** The journal as the rest of the program sees it: what we decided and did, in one file that survives us. */
import type { ProviderError } from "../runtime/errors.ts";
import type { TableName, TableReads } from "./tables.ts";
import type { Unit, WriterCounts } from "./writer.ts";

export interface Journal {
  /** Writes a unit of work; resolves when it is safe from a power cut. For intents and all that must not be lost. */
  durable<T>(label: string, unit: Unit<T>): Promise<T>;
  /** Writes a unit of work together with others; a power cut, but not our death, may lose the last moments of these. */
  relaxed<T>(label: string, unit: Unit<T>): Promise<T>;
  /** Reads what is committed; inside a unit, its tables also show every unit filed before it. */
  readonly read: TableReads;
  /** Resolves, never rejects, when storage failed and the process must end. */
  readonly died: Promise<ProviderError>;
  readonly counts: Readonly<WriterCounts>;
  /** Timestamp of new rows: no earlier than the newest block, so a row's age must be computed with this clock. */
  nowMs(): number;
  /** Rows per table, counted now. */
  rows(): Record<TableName, number>;
  /** What the file and its log take on disk. */
  bytes(): number;
  /** Settles the units that wait, then lets go of file and lock. */
  close(): Promise<void>;
}
