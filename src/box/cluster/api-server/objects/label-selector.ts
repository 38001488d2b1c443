/** "app=web,tier in (a,b),!old": which labels an object must have. */
import { Refused } from "./refused.ts";

export type Labels = Readonly<Record<string, string>>;
export type Test<T> = (subject: T) => boolean;

const name = `([A-Za-z0-9][-A-Za-z0-9_./]*)`;
const value = `([-A-Za-z0-9_.]*)`;

interface Form {
  readonly pattern: RegExp;
  read(key: string, right: string): Test<Labels>;
}

const forms: readonly Form[] = [
  { pattern: new RegExp(`^${name}$`), read: (key) => (labels) => key in labels },
  { pattern: new RegExp(`^!\\s*${name}$`), read: (key) => (labels) => !(key in labels) },
  { pattern: new RegExp(`^${name}\\s*==?\\s*${value}$`), read: (key, right) => (labels) => labels[key] === right },
  { pattern: new RegExp(`^${name}\\s*!=\\s*${value}$`), read: (key, right) => (labels) => labels[key] !== right },
  {
    pattern: new RegExp(`^${name}\\s+in\\s*\\(([^()]*)\\)$`),
    read(key, right) {
      const wanted = listOf(right);
      return (labels) => key in labels && wanted.has(labels[key] ?? "");
    },
  },
  {
    pattern: new RegExp(`^${name}\\s+notin\\s*\\(([^()]*)\\)$`),
    read(key, right) {
      const unwanted = listOf(right);
      return (labels) => !(key in labels) || !unwanted.has(labels[key] ?? "");
    },
  },
  {
    pattern: new RegExp(`^${name}\\s*>\\s*(-?\\d+)$`),
    read: (key, right) => (labels) => isNumber(labels[key]) && Number(labels[key]) > Number(right),
  },
  {
    pattern: new RegExp(`^${name}\\s*<\\s*(-?\\d+)$`),
    read: (key, right) => (labels) => isNumber(labels[key]) && Number(labels[key]) < Number(right),
  },
];

export function readLabelSelector(text: string): Test<Labels> {
  // Commas between parentheses belong to a list of values.
  const terms = text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter(Boolean)
    .map(readTerm);
  return (labels) => terms.every((holds) => holds(labels));
}

function readTerm(term: string): Test<Labels> {
  for (const { pattern, read } of forms) {
    const parts = pattern.exec(term);
    if (parts) return read(parts[1] ?? "", parts[2] ?? "");
  }
  throw new Refused(400, "BadRequest", `unable to parse requirement: "${term}" is no label selector`);
}

function listOf(text: string): Set<string> {
  return new Set(text.split(",").map((each) => each.trim()));
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^-?\d+$/.test(text);
}
