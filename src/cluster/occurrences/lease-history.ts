/** All that is written down about one lease: what we did with it, what we saw, and what the cluster said of it. */
import type { HistoryLine } from "../../journal/history.ts";
import type { OccurrenceRow } from "../../journal/occurrences.ts";
import type { TableReads } from "../../journal/tables.ts";
import { limits } from "../../runtime/limits.ts";
import { toldText } from "./told-text.ts";

export interface LeaseOccurrence {
  /** When it happened last. */
  readonly atMs: number;
  readonly firstAtMs: number;
  readonly count: number;
  /** Who says so: our own books, what we saw, or somebody in the cluster. */
  readonly origin: "journal" | OccurrenceRow["origin"];
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** What it is about, where it is less than the lease. */
  readonly object: string;
  readonly note: string;
}

type Reads = Pick<TableReads, "history" | "occurrences">;

/** What its tenant may read of what we did. */
export const isForTenant = ({ kind }: Pick<HistoryLine, "kind">) => kind === "lease" || kind === "manifest";

/** The newest last, and no more than so many of these. */
export function historyOf(
  { history, occurrences }: Reads,
  leaseId: string,
  limit: number,
  isShown: (line: HistoryLine) => boolean = () => true,
): LeaseOccurrence[] {
  const deeds = history.about(leaseId, limit).filter(isShown).map(deedOf);
  // Of one moment, in the order in which they were written down.
  const all = [...occurrences.about(leaseId, limit).map(occurrenceOf), ...deeds].reverse();
  return all.sort((a, b) => a.atMs - b.atMs).slice(-limit);
}

/** A line of the history: what it begins with is a word for programs, "ManifestReceived". */
export function deedOf({ line, atMs }: HistoryLine): LeaseOccurrence {
  const [words = ""] = line.split(/[:;,]/, 1);
  const letters = (words.match(/[A-Za-z]+/g) ?? []).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  const reason = letters.join("").slice(0, limits.occurrenceReasonChars);
  const type = isBad(line) ? "Warning" : "Normal";
  return {
    atMs,
    firstAtMs: atMs,
    count: 1,
    origin: "journal",
    type,
    reason,
    object: "",
    note: toldText(line, limits.occurrenceNoteChars),
  };
}

/** What a tenant will not like. */
function isBad(line: string): boolean {
  return /^(refused|closeBid|startReclaim)/.test(line);
}

export function occurrenceOf({ type, reason, object, note, ...row }: OccurrenceRow): LeaseOccurrence {
  const { origin, count, firstAtMs, lastAtMs } = row;
  return { atMs: lastAtMs, firstAtMs, count, origin, type, reason, object, note };
}

/** The id of a lease by that of its order, as people have it at hand; undefined where nothing is known of it. */
export function leaseNamed({ history }: Reads, text: string): string | undefined {
  return text.split("/").length <= 4 ? history.subjectUnder(text) : text;
}
