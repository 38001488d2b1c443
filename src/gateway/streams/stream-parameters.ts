/** What is asked of logs and events, read from the query as the network reads it and refused in its words. */
import { goQuote } from "../../market/go-json.ts";
import { checkAllowed } from "../auth/identity.ts";
import { type Answer, failure } from "../rest/answer.ts";

export interface StreamParameters {
  /** Undefined: all. */
  readonly services: ReadonlySet<string> | undefined;
  readonly follow: boolean;
  /** So many of the last lines; undefined: all. */
  readonly tail: number | undefined;
}

/** An answer where it makes no sense. What is empty is as if it were not there. */
export function readStreamParameters(query: URLSearchParams): StreamParameters | Answer {
  // The network's CLI says the one, all others the other.
  const named = query.get("service") || query.get("services") || "";
  if (named.endsWith(",")) return failure(400, 'parameter "service" must not contain trailing comma');
  const followText = query.get("follow") || "false";
  const follow = bools.get(followText);
  if (follow === undefined) return failure(400, refusal("ParseBool", followText, "invalid syntax"));
  const tail = readTail(query.get("tail") || "-1");
  if (typeof tail === "object") return tail;
  const names = named.split(",").map((name) => name.trim());
  return { services: named === "" ? undefined : new Set(names), follow, tail: tail < 0 ? undefined : tail };
}

/** Those of them that the credentials are good for; who asks for one by name that they are not good for is refused. */
export function permittedServices(
  asked: ReadonlySet<string> | undefined,
  given: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (!asked || !given) return asked ?? given;
  checkAllowed([...asked].every((name) => given.has(name)));
  return asked;
}

const bools = new Map<string, boolean>([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function readTail(text: string): number | Answer {
  if (!/^[+-]?[0-9]+$/.test(text)) return failure(400, refusal("ParseInt", text, "invalid syntax"));
  const value = Number(text);
  if (value < -(2 ** 31) || value >= 2 ** 31) return failure(400, refusal("ParseInt", text, "value out of range"));
  return value < -1 ? failure(400, 'parameter "tail" contains invalid value') : value;
}

function refusal(reader: string, text: string, reason: string): string {
  return `strconv.${reader}: parsing ${goQuote(text)}: ${reason}`;
}
