/**
 * Whether a node's name fits a pattern. Patterns are those of the network's operator, RE2, which are not JavaScript's, and
 * whose time grows with the name only: one that JavaScript would try for hours holds nobody up.
 */
import { RE2JS, RE2JSSyntaxException } from "re2js";

/** A pattern of node names; nobody can read a longer one. */
const inventoryPatternChars = 256;

export interface NodePattern {
  readonly source: string;
  /** Found anywhere in the name, unless the pattern says ^ or $. */
  matches(name: string): boolean;
}

export class PatternFault extends Error {
  override readonly name = "PatternFault";
}

/** Throws a PatternFault that says why the source is none. */
export function compileNodePattern(source: string): NodePattern {
  if (source === "") throw new PatternFault("it is empty, and would fit every node");
  if (source.length > inventoryPatternChars) {
    throw new PatternFault(`it is longer than ${inventoryPatternChars} characters`);
  }
  const pattern = compile(source);
  return { source, matches: (name) => pattern.matcher(name).find() };
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (thrown) {
    if (!(thrown instanceof RE2JSSyntaxException)) throw thrown;
    throw new PatternFault(thrown.message.replace("error parsing regexp: ", ""));
  }
}
