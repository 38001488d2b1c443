/** All that is written down about one lease: what we did with it, what we saw, and what the cluster said of it. */
import { createHash } from "node:crypto";
import type { HistoryLine } from "../../../journal/decisions.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import type { TableReads } from "../../../journal/tables.ts";
import { createRedactor } from "../../../runtime/redact.ts";

/** Rows of one lease and one origin; the oldest go, so that no lease crowds out another. */
export const eventRowsOfLease = 200;
/** Of what an Event says; the API server takes 1,024 bytes. */
export const eventNoteChars = 1_024;
/** Of an object's name, and of a reason: the longest that Kubernetes takes. */
export const eventNameChars = 253;
export const eventReasonChars = 128;

/** Its key makes it the same as one before, within a lease: seen again, its count is higher. */
export interface LeaseEvent extends Omit<OccurrenceRow, "leaseId" | "counted" | "lastAtMs" | "origin"> {
  /** When it happened last. */
  readonly atMs: number;
  /** Our own history, our judgement, or a component of the cluster. */
  readonly origin: "journal" | OccurrenceRow["origin"];
}

/** Under which name we write Events. Which of our machines it was is nothing that a tenant need know. */
export const ourselves = { reportingController: "akash.network/provider", reportingInstance: "" } as const;

type Reads = Pick<TableReads, "history" | "occurrences">;

/** Of the lines about a lease, those that its tenant may read. */
export const isForTenant = ({ kind }: Pick<HistoryLine, "kind">) => kind === "lease" || kind === "manifest";

/** The newest last, and no more than so many of these. */
export function historyOf(
  { history, occurrences }: Reads,
  leaseId: string,
  limit: number,
  isShown: (line: HistoryLine) => boolean = () => true,
): LeaseEvent[] {
  const lines = history.about(leaseId, limit).filter(isShown).map(historyEvent);
  // Stable: what is of one moment stays in the order in which it was written down.
  const all = [...occurrences.about(leaseId, limit).map(toLeaseEvent), ...lines].reverse();
  return all.sort((a, b) => a.atMs - b.atMs).slice(-limit);
}

/** Beginnings of lines: the text before the colon, in CamelCase, is the reason of the event. */
const reasons = [
  ...["manifest received", "manifest withdrawn by its owner", "manifest restored from the cluster"],
  ...["deployed", "updated", "refreshed", "taken over", "torn down", "drift found", "drift is gone"],
];
/** Those by which the tenant loses something. */
const losses = ["refused", "closeBid filed", "startReclaim filed"];

export function historyEvent({ id, line, atMs }: HistoryLine): LeaseEvent {
  const isLoss = losses.some((each) => line.startsWith(each));
  const beginning = [...losses, ...reasons].find((each) => line.startsWith(each)) ?? "noted";
  const reason = beginning.replace(/(?:^| )(.)/g, (_, first: string) => first.toUpperCase());
  const note = printableText(line, eventNoteChars);
  const once = { count: 1, firstAtMs: atMs, atMs };
  const type = isLoss ? "Warning" : "Normal";
  return { key: `line ${id}`, origin: "journal", type, reason, object: "", note, ...ourselves, ...once };
}

export function toLeaseEvent(row: OccurrenceRow): LeaseEvent {
  const { leaseId: _, counted: __, lastAtMs: atMs, ...event } = row;
  return { ...event, atMs };
}

/** The id of a lease by that of its order, as people have it at hand; undefined where nothing is known of it. */
export function leaseNamed({ history }: Reads, text: string): string | undefined {
  return text.split("/").length <= 4 ? history.subjectUnder(text) : text;
}

/** A key of fixed length. */
export function keyOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 24);
}

// What components of the cluster say about a tenant's workload, made fit to be kept and shown: the tenant has a say in it.

/** What would move a cursor, break a line or turn the text around. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;
/** Of a URL, the query in which registries put signatures. */
const query = /(https?:\/\/[^\s?"'<>]{1,512})\?[^\s"'<>]+/g;
/** Passwords in addresses, keys and tokens, by their looks. */
const { text: withoutSecrets } = createRedactor();

/** Of at most so many characters, on one line. */
export function printableText(text: string, mostChars: number): string {
  // A secret that crosses the cut would no longer look like one.
  const clean = withoutSecrets(
    text
      .slice(0, 4 * mostChars)
      .replace(unprintable, " ")
      .trim(),
  ).replace(query, "$1?…");
  return clean.length <= mostChars ? clean : `${clean.slice(0, mostChars - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
