/** Queries as clients send them. */
import { limits } from "../../../../runtime/limits.ts";
import { NodeRefusal } from "../node-refusal.ts";
import { parseQuery, type Query } from "../query-language.ts";

export function checkedQuery(text: string): Query {
  if (text.length > limits.chainQueryChars) throw new NodeRefusal("maximum query length exceeded");
  return parseQuery(text);
}
