/** What tenants write, made fit for a sentence and for the journal: short, and on one line. */
import type { Json, JsonObject } from "../../bus/topics.ts";
import { printable, shorten } from "../../market/printable.ts";

/** Of one name in a sentence: attributes and addresses are shorter. */
const decisionWordChars = 80;
/** Things that one sentence names: nobody reads more. */
export const decisionListed = 5;
/** Faults that one sentence names, and how long each may be. */
const decisionSentences = 3;
const decisionSentenceChars = 180;
/** Evidence of one check in the journal, which keeps half a million decisions of twenty checks. */
const decisionEvidenceChars = 2_000;

export function shownText(text: string, most: number = decisionWordChars): string {
  return printable(shorten(text, most));
}

/** "a, b, c and 7 more". */
export function listed<T>(items: readonly T[], show: (item: T) => string): string {
  return joined(items.slice(0, decisionListed).map(show), items.length, decisionWordChars, ", ");
}

export function listedSentences(sentences: readonly string[]): string {
  return joined(sentences.slice(0, decisionSentences), sentences.length, decisionSentenceChars, "; ");
}

function joined(texts: readonly string[], all: number, mostChars: number, joint: string): string {
  const some = texts.map((text) => shownText(text, mostChars)).join(joint);
  return all > texts.length ? `${some} and ${all - texts.length} more` : some;
}

/** The same facts, cut where there are too many: a tenant may write a megabyte, and the journal keeps every decision. */
export function boundedEvidence(evidence: JsonObject): JsonObject {
  const left = { chars: decisionEvidenceChars };
  return boundObject(evidence, left, 0);
}

interface Left {
  chars: number;
}

function bound(value: Json, left: Left, depth: number): Json {
  left.chars -= 4;
  if (typeof value === "string") {
    const text = shownText(value, Math.min(decisionWordChars * 4, Math.max(0, left.chars)));
    left.chars -= text.length;
    return text;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= 4) return "…";
  if (isList(value)) {
    const items: Json[] = [];
    for (const item of value.slice(0, decisionListed * 2)) {
      if (left.chars <= 0) break;
      items.push(bound(item, left, depth + 1));
    }
    return items.length < value.length ? [...items, `and ${value.length - items.length} more`] : items;
  }
  return boundObject(value, left, depth);
}

function boundObject(value: JsonObject, left: Left, depth: number): JsonObject {
  const kept: Record<string, Json> = {};
  let count = 0;
  for (const name in value) {
    if (left.chars <= 0 || count >= decisionListed * 4) {
      kept["…"] = "more was left out";
      break;
    }
    const part = value[name];
    if (part === undefined) continue;
    const shownName = shownText(name);
    left.chars -= shownName.length;
    kept[shownName] = bound(part, left, depth + 1);
    count += 1;
  }
  return kept;
}

function isList(value: readonly Json[] | JsonObject): value is readonly Json[] {
  return Array.isArray(value);
}
