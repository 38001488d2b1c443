/**
 * An Event as it was seen, in either of its two forms: with a count and its first and last time, as kubelets and most
 * controllers write it in the core group, or as a series, as the scheduler does.
 */
import { fieldsOf, textOf } from "../../../kube/json-fields.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { parseTime } from "../../../runtime/clock.ts";
import { day, minute } from "../../../runtime/durations.ts";
import { occurrenceNameChars } from "./judgements.ts";
import { occurrenceNoteChars, occurrenceReasonChars } from "./lease-history.ts";
import { familyOf, gist, keyOf } from "./same-occurrence.ts";
import { toldText } from "./told-text.ts";

/** By how much the clock of a node may be off: ahead of ours, and behind the server's when that made the Event. */
const occurrenceAheadMs = minute;
const occurrenceBehindMs = day;

export interface Sighting {
  readonly leaseId: string;
  /**
   * Which Event it is, by its name, in which there is a time. One that somebody has deleted is made again under its name
   * by the kubelet, and goes on counting where it was.
   */
  readonly event: string;
  /** What it is the same as. */
  readonly key: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly object: string;
  readonly note: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export function readSighting(leaseId: string, event: KubeObject, nowMs: number): Sighting {
  const regarding = fieldsOf(event["regarding"]);
  const series = fieldsOf(event["series"]);
  const kind = toldText(textOf(regarding["kind"]) ?? "", occurrenceReasonChars);
  const name = toldText(textOf(regarding["name"]) ?? "", occurrenceNameChars);
  const reason = toldText(textOf(event["reason"]) ?? "", occurrenceReasonChars);
  const note = toldText(textOf(event["note"]) ?? "", occurrenceNoteChars);
  const reportingController = toldText(textOf(event["reportingController"]) ?? "", occurrenceReasonChars);
  const reportingInstance = toldText(textOf(event["reportingInstance"]) ?? "", occurrenceReasonChars);
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

/** Those of them that are times, between these two. */
function timesIn(texts: readonly unknown[], earliestMs: number, latestMs: number): number[] {
  const times = texts.map((text) => parseTime(textOf(text) ?? ""));
  return times.filter((ms) => ms >= earliestMs && ms <= latestMs);
}

function wholeNumber(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : 0;
}
