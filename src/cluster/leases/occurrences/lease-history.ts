/** All that is written down about one lease: what we did with it, what we saw, and what the cluster said of it. */
import type { HistoryLine } from "../../../journal/history.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import type { TableReads } from "../../../journal/tables.ts";
import { toldText } from "./told-text.ts";

/** Of what an Event says; the API server takes 1,024 bytes. */
export const occurrenceNoteChars = 1_024;
/** Of a reason, which is a word, and of a name in an Event: the longest that Kubernetes takes. */
export const occurrenceReasonChars = 128;

export interface LeaseOccurrence {
  /** What makes it the same as one before, within a lease: told again, its count is higher. */
  readonly key: string;
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
  /** Which component says so, and which of its processes. */
  readonly reportingController: string;
  readonly reportingInstance: string;
}

/** Under which name we write Events. Which of our machines it was is nothing that a tenant need know. */
export const ourselves = { reportingController: "akash.network/provider", reportingInstance: "" } as const;

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
export function deedOf({ id, line, atMs }: HistoryLine): LeaseOccurrence {
  const [words = ""] = line.split(/[:;,]/, 1);
  const letters = (words.match(/[A-Za-z]+/g) ?? []).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  const reason = letters.join("").slice(0, occurrenceReasonChars);
  const type = isBad(line) ? "Warning" : "Normal";
  const note = toldText(line, occurrenceNoteChars);
  const once = { count: 1, firstAtMs: atMs, atMs };
  return { key: `line ${id}`, origin: "journal", type, reason, object: "", note, ...ourselves, ...once };
}

/** What a tenant will not like. */
function isBad(line: string): boolean {
  return /^(refused|closeBid|startReclaim)/.test(line);
}

export function occurrenceOf(row: OccurrenceRow): LeaseOccurrence {
  const { leaseId: _, counted: __, lastAtMs: atMs, ...told } = row;
  return { ...told, atMs };
}

/** The id of a lease by that of its order, as people have it at hand; undefined where nothing is known of it. */
export function leaseNamed({ history }: Reads, text: string): string | undefined {
  return text.split("/").length <= 4 ? history.subjectUnder(text) : text;
}
