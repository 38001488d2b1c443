/**
 * An Event as it was seen, in either of its two forms: with a count and its first and last time, as kubelets and most
 * controllers write it in the core group, or as a series, as the scheduler does.
 */

import { createHash } from "node:crypto";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { fieldsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { parseTime } from "../../../runtime/clock.ts";
import { day, minute } from "../../../runtime/durations.ts";
import { occurrenceNameChars, occurrenceNoteChars, occurrenceReasonChars, printableText } from "./lease-history.ts";

/** By how much the clock of a node may be off: ahead of ours, and behind the server's when that made the Event. */
const occurrenceAheadMs = minute;
const occurrenceBehindMs = day;

/** Its key is that of the row which it is counted in. */
export interface ObservedEvent extends Omit<OccurrenceRow, "origin" | "firstAtMs" | "lastAtMs" | "counted"> {
  /**
   * Which Event it is, by its name, in which there is a time. One that somebody has deleted is made again under its name
   * by the kubelet, and goes on counting where it was.
   */
  readonly event: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

export function readObservedEvent(leaseId: string, event: KubeObject, nowMs: number): ObservedEvent {
  const regarding = fieldsOf(event["regarding"]);
  const series = fieldsOf(event["series"]);
  const kind = printableText(textOf(regarding["kind"]) ?? "", occurrenceReasonChars);
  const name = printableText(textOf(regarding["name"]) ?? "", occurrenceNameChars);
  const reason = printableText(textOf(event["reason"]) ?? "", occurrenceReasonChars);
  const note = printableText(textOf(event["note"]) ?? "", occurrenceNoteChars);
  const reportingController = printableText(textOf(event["reportingController"]) ?? "", occurrenceReasonChars);
  const reportingInstance = printableText(textOf(event["reportingInstance"]) ?? "", occurrenceReasonChars);
  const type = event["type"] === "Normal" ? "Normal" : "Warning";
  const { creationTimestamp } = event.metadata;
  const { eventTime, deprecatedFirstTimestamp, deprecatedLastTimestamp } = event;
  const latestMs = nowMs + occurrenceAheadMs;
  const [madeMs = nowMs] = timesIn([creationTimestamp], Number.NEGATIVE_INFINITY, latestMs);
  // A node whose clock is far off does not know when it was: the server does.
  const told = (...texts: unknown[]) => timesIn(texts, madeMs - occurrenceBehindMs, latestMs)[0] ?? madeMs;
  const lastMs = told(series["lastObservedTime"], deprecatedLastTimestamp, eventTime);
  return {
    ...{ leaseId, type, reason, note, reportingController, reportingInstance },
    event: keyOf(leaseId, event.metadata.name),
    key: keyOf("cluster", kind, familyOf(kind, name), type, reason, gist(note)),
    object: `${kind} ${name}`,
    count: Math.max(wholeNumber(series["count"]), wholeNumber(event["deprecatedCount"]), 1),
    firstMs: Math.min(told(deprecatedFirstTimestamp, eventTime), lastMs),
    lastMs,
  };
}

function timesIn(texts: readonly unknown[], earliestMs: number, latestMs: number): number[] {
  const times = texts.map((text) => parseTime(textOf(text) ?? ""));
  return times.filter((ms) => ms >= earliestMs && ms <= latestMs);
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : 0;
}

// What makes two Events the same to a person: not the name of the pod that it happened to this time, nor how long it took.

/** What Kubernetes makes the ends of names from. */
const sign = "[bcdfghjklmnpqrstvwxz2456789]";
const podOfDeployment = new RegExp(`-${sign}{1,10}-${sign}{5}$`);
const replicaSet = new RegExp(`-${sign}{1,10}$`);
const numbered = /-\d+$/;

/** The name without what is another one for each replica or each update. */
export function familyOf(kind: string, name: string): string {
  if (kind === "ReplicaSet") return name.replace(replicaSet, "");
  if (kind !== "Pod" && kind !== "PersistentVolumeClaim") return name;
  const family = kind === "Pod" ? name.replace(podOfDeployment, "") : name;
  return family === name ? name.replace(numbered, "") : family;
}

const uid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const generatedName = new RegExp(`-${sign}{5,10}(?:-${sign}{5})?(?![a-z0-9])`, "g");
const duration = /\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+(?![a-z])/g;
const hex = /\b[0-9a-f]{7,}\b/gi;
const number = /\d+/g;

/** What a kubelet puts before the words when there are many like these. */
const combined = "(combined from similar events): ";

/** The note without names of pods, ids, times, addresses and amounts. */
function gist(note: string): string {
  const said = note.startsWith(combined) ? note.slice(combined.length) : note;
  return [uid, generatedName, duration, hex, number].reduce((text, volatile) => text.replace(volatile, "#"), said);
}

/** Short, whatever somebody has written. */
export function keyOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 24);
}

// Several Events share a row, each counts by itself and is seen again after every start and every new list. So the row knows
// how often each of the newest was counted, and when the last one that it forgot was. In doubt it counts too few.

/** Events of which a row knows how often each was counted: the pods of a large service. Beyond, it counts too few. */
export const occurrenceEvents = 32;

/** Of each Event that is known: how often it was counted, and when it was last heard of. */
type Known = Readonly<Record<string, readonly [count: number, lastMs: number]>>;

interface Counted {
  /** What happened later is not in the events that were forgotten. */
  readonly forgottenMs: number;
  readonly events: Known;
}

/** The row with what is new; undefined where nothing is. */
export function counted(row: OccurrenceRow | undefined, seen: ObservedEvent, nowMs: number): OccurrenceRow | undefined {
  const before = row ? readCounted(row.counted) : { forgottenMs: Number.NEGATIVE_INFINITY, events: {} };
  // A digest: eight signs tell those of one row apart.
  const id = seen.event.slice(0, 8);
  const more = moreThan(before, id, seen);
  if (more <= 0) return undefined;
  // A node whose clock is ahead must not have the last word for good.
  const lastAtMs = Math.min(seen.lastMs, nowMs);
  const firstAtMs = Math.min(seen.firstMs, lastAtMs);
  const isNewest = !row || lastAtMs >= row.lastAtMs;
  const { leaseId, key, type, reason } = seen;
  const known = before.events[id]?.[0] ?? 0;
  const after = forget({ ...before.events, [id]: [Math.max(known, seen.count), seen.lastMs] }, before.forgottenMs);
  return {
    ...{ leaseId, key, origin: "cluster", type, reason },
    ...whatIsSaid(isNewest ? seen : row),
    count: (row?.count ?? 0) + more,
    firstAtMs: Math.min(row?.firstAtMs ?? firstAtMs, firstAtMs),
    lastAtMs: Math.max(row?.lastAtMs ?? lastAtMs, lastAtMs),
    counted: JSON.stringify(after),
  };
}

/** What several Events that are the same may say each in its own way. */
export function whatIsSaid({ object, note, reportingController, reportingInstance }: ObservedEvent | OccurrenceRow) {
  return { object, note, reportingController, reportingInstance };
}

function moreThan({ events, forgottenMs }: Counted, id: string, { count, firstMs, lastMs }: ObservedEvent): number {
  const known = Object.hasOwn(events, id) ? events[id] : undefined;
  if (known) return count - known[0];
  if (firstMs > forgottenMs) return count;
  // It may be one that was forgotten, and has happened since.
  return lastMs > forgottenMs ? 1 : 0;
}

function forget(events: Known, forgottenMs: number): Counted {
  const newestFirst = Object.entries(events).sort(([, [, a]], [, [, b]]) => b - a);
  const gone = newestFirst.slice(occurrenceEvents).map(([, [, lastMs]]) => lastMs);
  return {
    forgottenMs: Math.max(forgottenMs, ...gone),
    events: Object.fromEntries(newestFirst.slice(0, occurrenceEvents)),
  };
}

/** Written by us, but negative infinity is null in JSON. */
function readCounted(text: string): Counted {
  const { forgottenMs, events } = JSON.parse(text) as { forgottenMs: number | null; events: Known };
  return { forgottenMs: forgottenMs ?? Number.NEGATIVE_INFINITY, events };
}
