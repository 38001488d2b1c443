/**
 * Whether a node's name fits a pattern. All ways through the pattern are walked at once, character by character, so the
 * time is the product of both lengths whatever the pattern: one that JavaScript would try for hours holds nobody up.
 */
import { limits } from "../../../runtime/limits.ts";
import { type Holds, type Pattern, PatternFault, parsePattern, type Takes } from "./pattern-syntax.ts";

export interface NodePattern {
  readonly source: string;
  /** Found anywhere in the name, unless the pattern says ^ or $. */
  matches(name: string): boolean;
}

/** A place in the pattern: it takes a character and goes on, or goes on at once, perhaps only where something holds. */
interface State {
  readonly takes?: Takes;
  readonly holds?: Holds;
  readonly goes: State[];
}

/** Throws a PatternFault that says why the source is none. */
export function compileNodePattern(source: string): NodePattern {
  if (source === "") throw new PatternFault("it is empty, and would fit every node");
  if (source.length > limits.inventoryPatternChars) {
    throw new PatternFault(`it is longer than ${limits.inventoryPatternChars} characters`);
  }
  const end: State = { goes: [] };
  const start = createBuilder()(parsePattern(source), end);
  return { source, matches: (name) => walk(start, end, name) };
}

function createBuilder() {
  let states = 0;

  function state(made: State): State {
    states += 1;
    if (states > limits.inventoryPatternStates) throw new PatternFault("its repeats multiply beyond all reason");
    return made;
  }

  /** The states of a pattern, made from its end to its beginning. */
  function build(pattern: Pattern, next: State): State {
    switch (pattern.kind) {
      case "one":
        return state({ takes: pattern.takes, goes: [next] });
      case "place":
        return state({ holds: pattern.holds, goes: [next] });
      case "each":
        return pattern.parts.reduceRight((after, part) => build(part, after), next);
      case "either":
        return state({ goes: pattern.choices.map((choice) => build(choice, next)) });
      case "times":
        return buildTimes(pattern, next);
    }
  }

  function buildTimes({ part, least, most }: Extract<Pattern, { kind: "times" }>, next: State): State {
    let first = next;
    if (most === Number.POSITIVE_INFINITY) {
      first = state({ goes: [next] });
      first.goes.push(build(part, first));
    } else {
      for (let extra = least; extra < most; extra += 1) first = state({ goes: [build(part, first), next] });
    }
    for (let needed = 0; needed < least; needed += 1) first = build(part, first);
    return first;
  }

  return build;
}

function walk(start: State, end: State, name: string): boolean {
  let here = new Set<State>();
  for (let at = 0; ; at += 1) {
    enter(start, here, name, at);
    if (here.has(end)) return true;
    if (at === name.length) return false;
    const after = new Set<State>();
    for (const { takes, goes } of here) {
      if (takes?.(name.charAt(at))) for (const state of goes) enter(state, after, name, at + 1);
    }
    here = after;
  }
}

/** Notes the state and all that are reached from it without a character. */
function enter(state: State, here: Set<State>, name: string, at: number): void {
  if (here.has(state)) return;
  here.add(state);
  if (state.takes || (state.holds && !state.holds(name, at))) return;
  for (const next of state.goes) enter(next, here, name, at);
}
