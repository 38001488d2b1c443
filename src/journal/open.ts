/** Opening the journal: one writer, a file that is sound and current, and a word about what was found. */
import { chmodSync, closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Boundary, openBoundary } from "../runtime/boundary.ts";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { once } from "../runtime/memoize.ts";
import { type Connection, connect, type Sql } from "./connection.ts";
import { checkPages, examine, noteCleanStop, takeCleanStop } from "./examine.ts";
import { corrupt, sqliteCodeOf, storageError } from "./faults.ts";
import type { Journal } from "./journal.ts";
import { prepareFolder, syncFolder, takeLock } from "./lock.ts";
import { migrate, migrations } from "./migrations.ts";
import { createRetention, type Keep, policiesKeeping } from "./retention.ts";
import { createTables, type TableName, type Tables } from "./tables.ts";
import { createWriter, type Writer } from "./writer.ts";

export interface JournalDeps {
  /** The data directory; made when it is missing. */
  readonly dir: string;
  readonly clock: Clock;
  /** The time of the newest block, undefined until one is known: rows are removed by it, and none is written as older. */
  readonly chainNowMs?: (() => number | undefined) | undefined;
  readonly log: Log;
  readonly boundary?: Boundary;
  readonly keep?: Keep;
  /** Ends an opening that takes long. */
  readonly signal?: AbortSignal;
}

/** A damaged journal was moved away, and where to. What it held is built again from chain and cluster. */
interface Loss {
  readonly reason: string;
  readonly kept: string;
}

/** The report says whether the journal is new, which older schema was migrated, and what damaged journal was set aside. */
export async function openJournal(deps: JournalDeps) {
  const { dir, clock, chainNowMs, log, boundary = openBoundary, keep = {} } = deps;
  const path = join(dir, "journal.db");
  prepareFolder(dir, boundary);
  const lock = takeLock(dir, clock);
  let connection: Connection | undefined;
  try {
    // A row is never older than the newest block: written while the clock is behind, it would be removed once the clock is right.
    const nowMs = () => Math.max(clock.now(), chainNowMs?.() ?? 0);
    const { tables, ...opened } = await openSound(path, { ...deps, nowMs }, boundary);
    connection = opened.connection;
    const writer = createWriter({ connection, tables, path, clock, boundary });
    const policies = policiesKeeping(keep);
    const retention = createRetention({ sql: connection, writer, clock, chainNowMs, log, policies });
    const setAside = await reportLoss({ dir, log, tables, writer }, opened.loss);
    retention.start();
    const { durable, relaxed, died, counts } = writer;
    let isSound = true;
    void died.then(() => {
      isSound = false;
    });
    const close = once(async (): Promise<void> => {
      await Promise.all([retention.stop(), writer.drain()]);
      try {
        boundary.cross("journal", "close:before");
      } finally {
        opened.connection.close();
        if (isSound) noteCleanStop(path, log);
        lock.release();
      }
      boundary.cross("journal", "close:after");
    });
    const rows = createRowCount(connection, tables);
    const opening = { durable, relaxed, died, counts, nowMs, rows, close };
    const journal: Journal = { ...opening, read: tables, bytes: () => bytesOf(path) };
    return { journal, report: { ...opened.found, ...(setAside && { setAside }) } };
  } catch (error) {
    connection?.close();
    lock.release();
    throw storageError(path, error) ?? error;
  }
}

function createRowCount(sql: Sql, tables: Tables): Journal["rows"] {
  const counts = Object.keys(tables).map(
    (name) => [name, sql.one<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`)] as const,
  );
  return () =>
    Object.fromEntries(counts.map(([name, count]) => [name, count()?.rows ?? 0])) as Record<TableName, number>;
}

/** By path, never by opening it: closing a second handle would drop SQLite's locks on the file (POSIX). */
function bytesOf(path: string): number {
  const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(path) + sizeOf(`${path}-wal`);
}

interface FileDeps extends JournalDeps {
  /** The time that rows are given. */
  readonly nowMs: () => number;
}

/** Opens the file that is there or, when that one is damaged, a new one in its place. */
async function openSound(path: string, deps: FileDeps, boundary: Boundary) {
  try {
    return { ...(await openFile(path, deps, boundary)), loss: undefined };
  } catch (error) {
    if (!ProviderError.is(error, "AKP_JOURNAL_CORRUPT")) throw error;
    const loss = { reason: String(error.details["reason"]), kept: setAside(path, deps.clock, boundary) };
    return { ...(await openFile(path, deps, boundary)), loss };
  }
}

async function openFile(path: string, { clock, nowMs, log, signal }: FileDeps, boundary: Boundary) {
  const isClean = takeCleanStop(path);
  const version = examine(path, migrations.length);
  if (version > 0) await checkPages(path, isClean, log, signal);
  if (!existsSync(path)) createFile(path, boundary);
  // Also those of a file that was restored from a backup: they hold tenants' secrets.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
  const connection = connect(path);
  try {
    migrate(connection, version, boundary);
    const tables = createTables(connection, { ...clock, now: nowMs });
    const created = version === 0;
    const migrated = !created && version < migrations.length;
    return { connection, tables, found: { created, ...(migrated && { migratedFrom: version }) } };
  } catch (error) {
    connection.close();
    throw schemaFault(path, error) ?? error;
  }
}

/** Made by us and not by SQLite, which would let others read it; its log takes over the mode. */
function createFile(path: string, boundary: Boundary): void {
  boundary.cross("journal", "create:before");
  closeSync(openSync(path, "wx", 0o600));
  syncFolder(join(path, ".."));
  boundary.cross("journal", "create:after");
}

const sqliteError = 1;

/** A sound database of ours without our tables was tampered with: of no more use than a damaged one. */
function schemaFault(path: string, error: unknown): ProviderError | undefined {
  if (sqliteCodeOf(error) !== sqliteError) return undefined;
  return corrupt(path, `its tables are not ours: ${(error as Error).message}`, error);
}

/** Reports every journal set aside that the history lacks, also of a start that ended before it could report. */
async function reportLoss(
  { dir, log, tables, writer }: { dir: string; log: Log; tables: Tables; writer: Writer },
  loss: Loss | undefined,
): Promise<Loss | undefined> {
  const unreported = listSetAside(dir).filter((kept) => tables.history.about(kept, 1).length === 0);
  const latest = unreported.at(-1);
  if (latest === undefined) return undefined;
  const reported = loss ?? { reason: "found by a start that did not finish", kept: latest };
  const error = new ProviderError("AKP_JOURNAL_DAMAGED", { path: join(dir, "journal.db"), ...reported });
  log.error("damaged journal set aside", { code: error.code, reason: error.message, advice: error.advice });
  await writer.durable("report loss", ({ history }) => {
    for (const kept of unreported) {
      const line = kept === reported.kept ? error.message : `an older journal lies set aside as ${kept}`;
      history.add({ kind: "journal", subject: kept, line });
    }
  });
  return reported;
}

/** Journals that were set aside: enough to look into a series of faults, not enough to fill the disk. */
export const journalSetAsideKept = 3;

/** SQLite's own files beside a database. */
const companions = ["-wal", "-shm", "-journal"];

/** Moves the journal under a dated name and returns that name. */
function setAside(path: string, clock: Clock, boundary: Boundary): string {
  const kept = freeName(dirname(path), clock.now());
  // The file itself goes first: a log left behind by a crash in between is noticed, a file without its log would not be.
  for (const suffix of ["", ...companions]) {
    if (!existsSync(path + suffix)) continue;
    boundary.cross("journal", `set aside${suffix}:before`);
    renameSync(path + suffix, kept + suffix);
    boundary.cross("journal", `set aside${suffix}:after`);
  }
  syncFolder(dirname(path));
  // A clock that was set back would make the latest one look the oldest.
  const others = listSetAside(dirname(path)).filter((other) => other !== kept);
  for (const other of others.slice(0, Math.max(0, others.length + 1 - journalSetAsideKept))) {
    boundary.cross("journal", "drop set aside:before");
    for (const suffix of ["", ...companions]) rmSync(other + suffix, { force: true });
    boundary.cross("journal", "drop set aside:after");
  }
  return kept;
}

/** A file system may forbid colons; a second one in the same millisecond takes the next. */
function freeName(dir: string, atMs: number): string {
  const time = formatTime(atMs).replaceAll(":", "-");
  const taken = readdirSync(dir).some((name) => name.includes(time));
  return taken ? freeName(dir, atMs + 1) : join(dir, `journal.damaged-${time}.db`);
}

/** The journals that lie set aside, the oldest first. One may consist of a log only. */
function listSetAside(dir: string): string[] {
  const names = readdirSync(dir).flatMap((name) => /^journal\.damaged-.*?\.db/.exec(name)?.[0] ?? []);
  return [...new Set(names)].sort().map((name) => join(dir, name));
}
