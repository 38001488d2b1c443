/** The journal as a second process reads it: without the lock, while a provider writes to it or when none runs. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { type Connection, connect } from "./connection.ts";
import { corrupt } from "./faults.ts";
import { applicationId, migrations } from "./migrations.ts";
import { createTables, type TableReads } from "./tables.ts";

interface JournalReader {
  readonly read: TableReads;
  close(): void;
}

/** Not a byte of it is changed: a journal of another version is refused, never brought up to date. */
export function openToRead(dir: string, clock: Clock): JournalReader {
  const path = join(dir, "journal.db");
  if (!existsSync(path)) throw new ProviderError("AKP_JOURNAL_MISSING", { path });
  const connection = connect(path, { readOnly: true });
  try {
    mustBeOurs(connection, path);
    return { read: createTables(connection, clock), close: connection.close };
  } catch (thrown) {
    connection.close();
    throw thrown;
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
