/**
 * Whether all pages of the file are sound, which takes a minute or more for gigabytes. A large file is checked in a process of
 * its own, so that probes are answered and a stop is not held up meanwhile (a thread cannot be ended before SQLite returns), and not
 * at all where nothing has touched it since a clean stop.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { reasonOf } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { corrupt, sqliteCodeOf, storageError } from "./faults.ts";

/** Checked at every start, at once: it takes less time than a process does to begin. */
const smallBytes = 8 * 2 ** 20;

/** Throws AKP_JOURNAL_CORRUPT. `isClean`: nothing has touched the file since a clean stop. */
export async function checkPages(path: string, isClean: boolean, log: Log, signal?: AbortSignal): Promise<void> {
  const { size: bytes } = statSync(path);
  const isSmall = bytes <= smallBytes;
  if (isClean && !isSmall) return;
  if (!isSmall) log.info("checking all pages of the journal, since the last stop was not clean", { bytes });
  try {
    const verdict = isSmall ? verdictOn(path) : await verdictOfProcess(path, signal);
    if (verdict !== "ok") throw corrupt(path, verdict);
  } catch (thrown) {
    throw storageError(path, thrown) ?? thrown;
  }
}

function verdictOn(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const row = database.prepare("PRAGMA integrity_check(1)").get();
    return String(row?.["integrity_check"]);
  } finally {
    database.close();
  }
}

async function verdictOfProcess(path: string, signal: AbortSignal | undefined): Promise<string> {
  const script = fileURLToPath(import.meta.url);
  const { stdout } = await promisify(execFile)(process.execPath, [script, path], { signal, killSignal: "SIGKILL" });
  const answer = JSON.parse(stdout) as ProcessAnswer;
  if ("verdict" in answer) return answer.verdict;
  // Its code does not survive the way between processes.
  throw Object.assign(new Error(answer.message), { code: "ERR_SQLITE_ERROR", errcode: answer.errcode });
}

type ProcessAnswer = { readonly verdict: string } | { readonly message: string; readonly errcode: number };

if (import.meta.main) process.stdout.write(JSON.stringify(answerOn(process.argv[2] ?? "")));

function answerOn(path: string): ProcessAnswer {
  try {
    return { verdict: verdictOn(path) };
  } catch (thrown) {
    const errcode = sqliteCodeOf(thrown);
    if (errcode === undefined) throw thrown;
    return { message: (thrown as Error).message, errcode };
  }
}

const noteOf = (path: string) => `${path}-closed`;

function stampOf(path: string): string {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return `${size} ${mtimeNs}`;
}

/** After the last close of a sound file. */
export function noteCleanStop(path: string, log: Log): void {
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size <= smallBytes) return;
  try {
    writeFileSync(noteOf(path), stampOf(path), { mode: 0o600 });
  } catch (thrown) {
    // The next start checks the file, and that is all.
    log.info("cannot note the clean stop of the journal", { reason: reasonOf(thrown) });
  }
}

/** Whether the file is as a clean stop left it. What is noted holds for one start: this one may find damage. */
export function takeCleanStop(path: string): boolean {
  const note = noteOf(path);
  if (!existsSync(note)) return false;
  const isClean = existsSync(path) && readFileSync(note, "utf8") === stampOf(path) && !existsSync(`${path}-wal`);
  rmSync(note);
  return isClean;
}
