/** Which labels an object must have: as objects say it, and as a request does: "app=web,tier in (a,b),!old". */
import { badRequest } from "./rejections.ts";

type Labels = Readonly<Record<string, string>>;
export type Test<T> = (subject: T) => boolean;

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly Requirement[];
}

export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels = {}): boolean {
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
  return matchExpressions.every((requirement) => meets(requirement, labels));
}

/** Without Gt and Lt, which only node selectors have: unknown operators match nothing. */
export function meets({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = labels[key];
  if (operator === "In") return value !== undefined && values.includes(value);
  if (operator === "NotIn") return value === undefined || !values.includes(value);
  if (operator === "Exists") return value !== undefined;
  return operator === "DoesNotExist" && value === undefined;
}

export function readLabelSelector(text: string): Test<Labels> {
  // Commas between parentheses belong to a list of values.
  const terms = text.split(/,(?![^(]*\))/).map((term) => term.trim());
  const matchExpressions = terms.filter(Boolean).map(readTerm);
  return (labels) => selects({ matchExpressions }, labels);
}

const form =
  /^(?:!\s*(?<no>[\w./-]+)|(?<key>[\w./-]+)(?:\s*(?<sign>==?|!=)\s*(?<value>[\w.-]*)|\s+(?<set>in|notin)\s*\((?<list>[^()]*)\))?)$/;

function readTerm(term: string): Requirement {
  const { no, key = "", sign, value = "", set, list = "" } = form.exec(term)?.groups ?? {};
  if (no) return { key: no, operator: "DoesNotExist" };
  if (!key) throw badRequest(`unable to parse requirement: "${term}" is no label selector`);
  if (sign) return { key, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  if (!set) return { key, operator: "Exists" };
  return { key, operator: set === "in" ? "In" : "NotIn", values: list.split(",").map((each) => each.trim()) };
}
