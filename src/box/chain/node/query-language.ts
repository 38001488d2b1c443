import { NodeError } from "./node-error.ts";

export const chainQueryChars = 512;

/** Every value that an event carries under "type.key". */
export type EventValues = ReadonlyMap<string, readonly string[]>;

type Operator = "=" | "<" | "<=" | ">" | ">=" | "CONTAINS" | "EXISTS";

interface QueryCondition {
  readonly tag: string;
  readonly operator: Operator;
  matches(value: string): boolean;
}

export interface EventQuery {
  readonly conditions: readonly QueryCondition[];
  /** The same for two queries that differ in spacing only. */
  readonly text: string;
}

interface Token {
  readonly kind: "tag" | "text" | "number" | "operator" | "and";
  readonly value: string;
  readonly at: number;
}

const scanner =
  /\s*(?:(?<number>\d+(?:\.\d*)?)(?![\w.-])|(?<word>[\p{L}\p{N}_][\p{L}\p{N}_.-]*)|'(?<text>[^']*)'|(?<compare>[<>]=?|=))/uy;

/** Words that are not tags. */
const wordKinds: Record<string, Token["kind"]> = { AND: "and", CONTAINS: "operator", EXISTS: "operator" };

/** As a client sent it. */
export function checkedQuery(text: string): EventQuery {
  if (text.length > chainQueryChars) throw new NodeError("maximum query length exceeded");
  return parseQuery(text);
}

export function parseQuery(source: string): EventQuery {
  const tokens = scan(source);
  const conditions: QueryCondition[] = [];
  const texts: string[] = [];
  for (let next = 0; next === 0 || next < tokens.length; ) {
    if (next > 0) expect(tokens[next++], ["and"], source);
    const tag = expect(tokens[next++], ["tag"], source).value;
    const operator = expect(tokens[next++], ["operator"], source).value as Operator;
    if (operator === "EXISTS") {
      conditions.push({ tag, operator, matches: () => true });
      texts.push(`${tag} ${operator}`);
      continue;
    }
    const argument = expect(tokens[next++], argumentsOf(operator), source);
    conditions.push({ tag, operator, matches: matcher(operator, argument) });
    texts.push(`${tag} ${operator} ${argument.kind === "text" ? `'${argument.value}'` : argument.value}`);
  }
  return { conditions, text: texts.join(" AND ") };
}

/** Whether every condition holds for some value; each may find its own. */
export function matchesQuery(query: EventQuery, events: EventValues): boolean {
  return query.conditions.every(
    (condition) => events.get(condition.tag)?.some((value) => condition.matches(value)) ?? false,
  );
}

function scan(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (source.slice(at).trim() !== "") {
    scanner.lastIndex = at;
    const groups = scanner.exec(source)?.groups;
    if (!groups) throw new NodeError(`invalid input ${source.slice(at).trim().charAt(0)} at offset ${at + 1}`);
    at = scanner.lastIndex;
    const { number, word, text, compare } = groups;
    if (number !== undefined) tokens.push({ kind: "number", value: number, at });
    else if (text !== undefined) tokens.push({ kind: "text", value: text, at });
    else if (compare !== undefined) tokens.push({ kind: "operator", value: compare, at });
    else if (word !== undefined) tokens.push({ kind: wordKinds[word] ?? "tag", value: word, at });
  }
  return tokens;
}

function expect(token: Token | undefined, kinds: readonly Token["kind"][], source: string): Token {
  if (token && kinds.includes(token.kind)) return token;
  const got = token ? token.kind : "EOF";
  throw new NodeError(`offset ${token?.at ?? source.length}: got ${got}, wanted ${kinds.join(" or ")}`);
}

function argumentsOf(operator: Operator): Token["kind"][] {
  if (operator === "CONTAINS") return ["text"];
  return operator === "=" ? ["number", "text"] : ["number"];
}

function matcher(operator: Operator, argument: Token): (value: string) => boolean {
  const wanted = argument.value;
  if (operator === "CONTAINS") return (value) => value.includes(wanted);
  if (argument.kind === "text") return (value) => value === wanted;
  return (value) => {
    // "12500uakt" counts as 12500: people search for amounts that way.
    const number = /^\d+(?:\.\d+)?/.exec(value)?.[0];
    if (number === undefined) return false;
    const order = compareDecimals(number, wanted);
    if (operator === "=") return order === 0;
    if (operator === "<" || operator === "<=") return order < 0 || (order === 0 && operator === "<=");
    return order > 0 || (order === 0 && operator === ">=");
  };
}

/** Exact for any length: amounts do not fit a float. */
function compareDecimals(a: string, b: string): number {
  const [wholeA = "", fractionA = ""] = a.split(".");
  const [wholeB = "", fractionB = ""] = b.split(".");
  const digits = Math.max(fractionA.length, fractionB.length);
  const left = BigInt(wholeA + fractionA.padEnd(digits, "0"));
  const right = BigInt(wholeB + fractionB.padEnd(digits, "0"));
  return left < right ? -1 : left > right ? 1 : 0;
}
