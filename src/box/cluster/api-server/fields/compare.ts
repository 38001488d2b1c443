/** What changed between two values, field by field. */
import { isRecord } from "../../../../runtime/is-record.ts";
import { isAtomic, type ListShape, type Plain, type Shape, shapeInside } from "../schema/shape.ts";
import { bySteps } from "./elements.ts";
import { equal } from "./equal.ts";
import { type FieldSet, fieldStep } from "./field-set.ts";

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

type Growing = Record<string, FieldSet>;
type Verdict = { added?: FieldSet; modified?: FieldSet; removed?: FieldSet };

export function compare(before: unknown, after: unknown, shape: Shape): Comparison {
  const { added = {}, modified = {}, removed = {} } = judge(before, after, shape);
  return { added, modified, removed };
}

/** An empty set means the value as a whole. */
function judge(before: unknown, after: unknown, shape: Shape): Verdict {
  if (before === undefined) return { added: everyField(after, shape) };
  if (after === undefined) return { removed: everyField(before, shape) };
  if (isAtomic(shape) || (!hasParts(before) && !hasParts(after)) || unlike(before, after)) return leaf(before, after);
  return judgeParts(before, after, shape);
}

function leaf(before: unknown, after: unknown): Verdict {
  return equal(before, after) ? unchanged : { modified: {} };
}

const unchanged: Verdict = {};

/** What comes or goes with the whole value: each field of it, and whatever holds them. */
function everyField(value: unknown, shape: Shape): FieldSet {
  if (!hasParts(value) || isAtomic(shape)) return {};
  const out: Growing = { ".": {} };
  if (!Array.isArray(value)) {
    const record = value as Plain;
    for (const name in record) out[fieldStep(name)] = everyField(record[name], shapeInside(shape, name));
    return out;
  }
  if (shape.is !== "list") return {};
  for (const [step, same] of bySteps(value, shape)) out[step] = same.length > 1 ? {} : everyField(same[0], shape.of);
  return out;
}

function judgeParts(before: unknown, after: unknown, shape: Shape): Verdict {
  const isList = Array.isArray(before ?? after);
  if (!isList) return judgeRecords((before ?? {}) as Plain, (after ?? {}) as Plain, shape);
  if (shape.is !== "list") return leaf(before, after);
  return judgeLists((before ?? []) as unknown[], (after ?? []) as unknown[], shape);
}

function judgeRecords(before: Plain, after: Plain, shape: Shape): Verdict {
  const parts = createParts();
  for (const name in before) parts.put(fieldStep(name), judge(before[name], after[name], shapeInside(shape, name)));
  for (const name in after) {
    if (!(name in before)) parts.put(fieldStep(name), judge(undefined, after[name], shapeInside(shape, name)));
  }
  return parts.verdict();
}

function judgeLists(before: readonly unknown[], after: readonly unknown[], shape: ListShape): Verdict {
  const parts = createParts();
  const old = bySteps(before, shape);
  const now = bySteps(after, shape);
  for (const step of new Set([...old.keys(), ...now.keys()])) {
    parts.put(step, judgeElements(old.get(step) ?? [], now.get(step) ?? [], shape));
  }
  return parts.verdict();
}

/** Elements that share a key are looked at together, as one. */
function judgeElements(before: readonly unknown[], after: readonly unknown[], { of }: ListShape): Verdict {
  if (before.length <= 1 && after.length <= 1) return judge(before[0], after[0], of);
  if (before.length > 1 && after.length > 1) return equal(before, after) ? {} : { modified: {} };
  return before.length > 1 ? { removed: {} } : { added: {} };
}

/** Puts the verdicts on the parts of a value together. */
function createParts() {
  const sets: { added?: Growing; modified?: Growing; removed?: Growing } = {};
  function put(part: keyof Verdict, step: string, set: FieldSet | undefined): void {
    if (set === undefined) return;
    sets[part] ??= {};
    sets[part][step] = set;
  }
  return {
    put(step: string, { added, modified, removed }: Verdict): void {
      put("added", step, added);
      put("modified", step, modified);
      put("removed", step, removed);
    },
    verdict: (): Verdict => sets,
  };
}

function hasParts(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return true;
  return false;
}

/** A record that became a text: nothing in them can be compared. Null is an empty one of whatever the other is. */
function unlike(before: unknown, after: unknown): boolean {
  if ((before ?? undefined) === undefined || (after ?? undefined) === undefined) return false;
  return Array.isArray(before) !== Array.isArray(after) || isRecord(before) !== isRecord(after);
}
