/**
 * A set of fields of an object, in the very form in which managedFields carries it: a step ("f:spec", 'k:{"name":"web"}',
 * 'v:"x"') leads to what is below it. A step with nothing below it is in the set; "." says so of one with more below.
 */
import { isRecord } from "../../../../runtime/is-record.ts";
import { isAtomic, type Plain, type Shape, shapeInside } from "../schema/shape.ts";
import { bySteps } from "./elements.ts";

export interface FieldSet {
  readonly [step: string]: FieldSet;
}

type Growing = Record<string, FieldSet>;

const itself = ".";
const here: FieldSet = {};
export const noFields: FieldSet = {};

export const fieldStep = (name: string) => `f:${name}`;

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether the step itself, not only something below it, is in the set. */
export function has(set: FieldSet, step: string): boolean {
  const below = set[step];
  return below !== undefined && (isEmpty(below) || itself in below);
}

/** What is in the set below a step. */
export function below(set: FieldSet, step: string): FieldSet {
  const inner = set[step];
  if (inner === undefined || !(itself in inner)) return inner ?? noFields;
  const { [itself]: _, ...rest } = inner;
  return rest;
}

/** One step with what is below it; undefined when neither is in the set. */
function node(isMember: boolean, inner: FieldSet): FieldSet | undefined {
  if (isEmpty(inner)) return isMember ? here : undefined;
  return isMember ? { [itself]: here, ...inner } : inner;
}

function combine(
  steps: Iterable<string>,
  member: (step: string) => boolean,
  inner: (step: string) => FieldSet,
): FieldSet {
  const out: Growing = {};
  for (const step of steps) {
    const made = node(member(step), inner(step));
    if (made !== undefined) out[step] = made;
  }
  return out;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) ? b : a;
  const steps = new Set([...Object.keys(a), ...Object.keys(b)]);
  return combine(
    steps,
    (step) => has(a, step) || has(b, step),
    (step) => union(below(a, step), below(b, step)),
  );
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(
    Object.keys(a).filter((step) => step in b),
    (step) => has(a, step) && has(b, step),
    (step) => intersection(below(a, step), below(b, step)),
  );
}

/** A parent without a child is still the parent, and a child without its parent still the child. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(b)) return a;
  return combine(
    Object.keys(a),
    (step) => has(a, step) && !has(b, step),
    (step) => (step in b ? difference(below(a, step), below(b, step)) : below(a, step)),
  );
}

/** Without what is in `b`, and without everything below that. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  return combine(
    Object.keys(a).filter((step) => !has(b, step)),
    (step) => has(a, step),
    (step) => (step in b ? without(below(a, step), below(b, step)) : below(a, step)),
  );
}

/** With every field of a type that leads to something in the set; entries of maps and elements of lists not. */
export function withNamedFields(set: FieldSet, shape: Shape): FieldSet {
  return combine(
    Object.keys(set),
    (step) => has(set, step) || isNamedField(shape, step),
    (step) => withNamedFields(below(set, step), shapeBelow(shape, step)),
  );
}

function isNamedField(shape: Shape, step: string): boolean {
  return step.startsWith("f:") && shape.is === "struct" && shape.fields.has(step.slice(2));
}

function shapeBelow(shape: Shape, step: string): Shape {
  if (step.startsWith("f:")) return shapeInside(shape, step.slice(2));
  return shape.is === "list" ? shape.of : shape;
}

/** Everything in the set as the API writes it for people: '.spec.containers[name="web"].image'. */
export function* pathsOf(set: FieldSet, before = ""): Generator<string> {
  const steps = Object.keys(set).sort();
  for (const step of steps) if (has(set, step)) yield `${before}${stepText(step)}`;
  for (const step of steps) yield* pathsOf(below(set, step), `${before}${stepText(step)}`);
}

export function stepText(step: string): string {
  const rest = step.slice(2);
  if (step.startsWith("f:")) return `.${rest}`;
  if (step.startsWith("v:")) return `[=${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as Record<string, unknown>);
  return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
}

export function singleField(...names: readonly string[]): FieldSet {
  return names.reduceRight<FieldSet>((inner, name) => ({ [fieldStep(name)]: inner }), here);
}

/** Which fields a value gives: what an apply of it would own. */
export function givenFields(value: unknown, shape: Shape): FieldSet {
  if (Array.isArray(value)) return isAtomic(shape) || shape.is === "any" ? {} : elementsOf(value, shape);
  return isRecord(value) && !isAtomic(shape) ? recordFields(value, shape) : {};
}

function recordFields(record: Plain, shape: Shape): FieldSet {
  const out: Growing = {};
  for (const [name, value] of Object.entries(record)) {
    const inside = shapeInside(shape, name);
    const inner = givenFields(value, inside);
    const isField = shape.is === "struct";
    // An empty list with keys has no owner.
    if (isEmpty(inner) && Array.isArray(value) && isKeyed(inside) && isField) continue;
    out[fieldStep(name)] = isField || isEmpty(inner) ? inner : { ".": {}, ...inner };
  }
  return out;
}

function elementsOf(list: readonly unknown[], shape: Shape): FieldSet {
  if (shape.is !== "list") return {};
  const out: Growing = {};
  for (const [step, same] of bySteps(list, shape)) {
    const inner = same.length > 1 ? {} : givenFields(same[0], shape.of);
    out[step] = isEmpty(inner) ? {} : { ".": {}, ...inner };
  }
  return out;
}

function isKeyed(shape: Shape): boolean {
  return shape.is === "list" && shape.by !== "nothing";
}
