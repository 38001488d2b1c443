/** The journal as a second process reads it: without the lock, while a provider writes to it or when none runs. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../runtime/clock.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../runtime/errors.ts";
import { type Connection, connect } from "./connection.ts";
import { corrupt } from "./faults.ts";
import { applicationId, migrations } from "./migrations.ts";
import { createTables, type TableReads } from "./tables.ts";

interface JournalReader {
  readonly read: TableReads;
  /** All that the work reads is of one moment, whatever the provider writes meanwhile: else sums do not add up. */
  atOnce<T>(work: (read: TableReads) => T): T;
  close(): void;
}

/** Not a byte of it is changed: a journal of another version is rejected, never brought up to date. */
export function openToRead(dir: string, clock: Clock): JournalReader {
  const path = join(dir, "journal.db");
  const connection = connectToRead(path);
  try {
    mustBeOurs(connection, path);
    const read = createTables(connection, clock);
    return { read, atOnce: (work) => inSnapshot(connection, () => work(read)), close: connection.close };
  } catch (thrown) {
    connection.close();
    throw unreadable(path, thrown) ?? thrown;
  }
}

/** The last good content of files that an operator edits, by path; from a journal of any version, which a start has yet to migrate. */
export function readKeptFiles(dir: string): ReadonlyMap<string, string> {
  const connection = connectToRead(join(dir, "journal.db"));
  try {
    const rows = connection.all<{ path: string; text: string }>("SELECT path, text FROM files")();
    return new Map(rows.map(({ path, text }) => [path, text]));
  } finally {
    connection.close();
  }
}

function connectToRead(path: string): Connection {
  try {
    accessSync(path, constants.R_OK);
    return connect(path, { readOnly: true });
  } catch (thrown) {
    if (systemCodeOf(thrown) === "ENOENT") throw new ProviderError("AKP_JOURNAL_MISSING", { path });
    throw unreadable(path, thrown) ?? thrown;
  }
}

/** A reader must not get the advice to write. */
function unreadable(path: string, thrown: unknown): ProviderError | undefined {
  const isOurs = thrown instanceof ProviderError;
  if (isOurs ? thrown.code !== "AKP_DATA_DIR_UNWRITABLE" : systemCodeOf(thrown) === undefined) return undefined;
  const reason = reasonOf(isOurs ? thrown.cause : thrown);
  return new ProviderError("AKP_JOURNAL_UNREADABLE", { path, reason }, { cause: thrown });
}

function inSnapshot<T>(connection: Connection, work: () => T): T {
  connection.exec("BEGIN");
  try {
    return work();
  } finally {
    connection.exec("ROLLBACK");
  }
}

/** Its soundness is the provider's business; a reader that meets a bad page says so. */
function mustBeOurs(connection: Connection, path: string): void {
  const pragma = (name: string) => connection.one<Record<string, number>>(`PRAGMA ${name}`)()?.[name] ?? 0;
  const [found, known] = [pragma("user_version"), migrations.length];
  // A file that was just made has neither yet.
  if (found > 0 && pragma("application_id") !== applicationId) throw corrupt(path, "it belongs to some other program");
  if (found > known) throw new ProviderError("AKP_JOURNAL_TOO_NEW", { path, found, known });
  if (found < known) throw new ProviderError("AKP_JOURNAL_TOO_OLD", { path, found, known });
}
