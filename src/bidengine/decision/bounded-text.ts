/** Text of tenants for a sentence and for the journal: short, and on one line. */
import type { Json, JsonObject } from "../../bus/topics.ts";
import { printable, shorten } from "../../market/printable.ts";

/** Of one name in a sentence: attributes and addresses are shorter. */
const decisionWordChars = 80;
/** Items that one sentence lists. */
export const decisionListed = 5;
/** Faults that one sentence lists, and how long each may be. */
const decisionSentences = 3;
const decisionSentenceChars = 180;
/** Evidence of one check in the journal, which keeps half a million decisions of twenty checks. */
const decisionEvidenceChars = 2_000;

export function shownText(text: string, most: number = decisionWordChars): string {
  return printable(shorten(text, most));
}

/** "a, b, c and 7 more". */
export function listed<T>(items: readonly T[], show: (item: T) => string = String): string {
  return joined(items.slice(0, decisionListed).map(show), items.length, decisionWordChars, ", ");
}

export function listedSentences(sentences: readonly string[]): string {
  return joined(sentences.slice(0, decisionSentences), sentences.length, decisionSentenceChars, "; ");
}

function joined(texts: readonly string[], all: number, mostChars: number, joint: string): string {
  const some = texts.map((text) => shownText(text, mostChars)).join(joint);
  return all > texts.length ? `${some} and ${all - texts.length} more` : some;
}

/** Evidence with every list, name and text cut to a length: a tenant may write a megabyte. */
export function boundedEvidence(evidence: JsonObject): JsonObject {
  const left = { chars: decisionEvidenceChars };
  const text = (value: string, most: number) => {
    const shown = shownText(value, Math.min(most, Math.max(0, left.chars)));
    left.chars -= shown.length;
    return shown;
  };
  function bound(value: Json): Json {
    left.chars -= 4;
    if (typeof value === "string") return text(value, decisionWordChars * 4);
    if (typeof value !== "object" || value === null) return value;
    if (!Array.isArray(value)) return boundObject(value as JsonObject);
    const items = value.slice(0, decisionListed * 2).flatMap((item) => (left.chars > 0 ? [bound(item)] : []));
    return items.length < value.length ? [...items, `and ${value.length - items.length} more`] : items;
  }
  function boundObject(value: JsonObject): JsonObject {
    const entries = Object.entries(value).filter(([, part]) => part !== undefined);
    const kept = entries.slice(0, decisionListed * 4).flatMap(([name, part]): [string, Json][] => {
      return part === undefined || left.chars <= 0 ? [] : [[text(name, decisionWordChars), bound(part)]];
    });
    if (kept.length < entries.length) kept.push(["…", "more was left out"]);
    return Object.fromEntries(kept);
  }
  return boundObject(evidence);
}
