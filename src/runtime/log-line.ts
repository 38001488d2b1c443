/** The plain format: one line per entry that a person can read, and below it, indented, what needs more room. */
import type { Plain, PlainObject } from "./plain-value.ts";

interface LogEntry {
  /** Empty when lines carry no time. */
  readonly time: string;
  readonly level: string;
  readonly message: string;
  readonly fields: PlainObject;
}

const colors: Record<string, string> = {
  debug: "\u001b[2m",
  info: "\u001b[32m",
  warn: "\u001b[33m",
  error: "\u001b[31m",
};
const plainColor = "\u001b[0m";
const indent = "    ";

export function formatLine({ time, level, message, fields }: LogEntry, color: boolean): string {
  const { module } = fields;
  const label = level.toUpperCase().padEnd(5);
  const head = [time, color ? `${colors[level] ?? ""}${label}${plainColor}` : label].filter((part) => part !== "");
  const [summary = "", ...continued] = printable(message).split("\n");
  const words = [module === undefined ? summary : `${inWord(module)}: ${summary}`];
  const below = continued.map((line) => indent + line);
  for (const [name, value] of Object.entries(fields)) {
    if (name === "module") continue;
    const field = formatField(printable(name).replaceAll("\n", "\\n"), value, level === "warn");
    if (field.word !== undefined) words.push(field.word);
    below.push(...field.below);
  }
  return `${[...head, ...words].join(" ")}\n${below.map((line) => `${line}\n`).join("")}`;
}

interface FormattedField {
  readonly word?: string;
  readonly below: string[];
}

/** A warning is one line: of an error its title. */
function formatField(name: string, value: Plain, isOneLine: boolean): FormattedField {
  if (isOneLine) return { word: `${name}=${inWord(isError(value) ? titleOf(value) : value)}`, below: [] };
  if (isError(value)) return { word: `${name}=${inWord(titleOf(value))}`, below: formatError(value, indent) };
  if (typeof value === "string" && value.includes("\n")) return { below: block(name, value, indent) };
  return { word: `${name}=${inWord(value)}`, below: [] };
}

/** What plain-value.ts makes of an error. */
function isError(value: Plain): value is PlainObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return (
    typeof value["message"] === "string" && (typeof value["advice"] === "string" || typeof value["stack"] === "string")
  );
}

function titleOf(error: PlainObject): string {
  const [line = ""] = String(error["message"]).split("\n");
  return `${String(error["code"] ?? error["name"])}: ${line}`;
}

function formatError(error: PlainObject, margin: string): string[] {
  const { code: _code, name: _name, message, cause, ...others } = error;
  // The title had its first line, and a stack repeats all of it.
  const wholeMessage = String(message).includes("\n") && !("stack" in others) ? { message: String(message) } : {};
  const lines = Object.entries<Plain>({ ...wholeMessage, ...others }).flatMap(([name, value]) =>
    block(name, typeof value === "string" ? value : JSON.stringify(value), margin),
  );
  if (cause === undefined) return lines;
  if (!isError(cause)) return [...lines, ...block("caused by", inWord(cause), margin)];
  return [...lines, ...block("caused by", titleOf(cause), margin), ...formatError(cause, margin + indent)];
}

function block(name: string, text: string, margin: string): string[] {
  const lines = printable(text).split("\n");
  if (lines.length === 1) return [`${margin}${name}: ${lines[0]}`];
  return [`${margin}${name}:`, ...lines.map((line) => margin + indent + line)];
}

/** Quoted where it would not read as one word. */
function inWord(value: Plain): string {
  if (typeof value !== "string") return printable(JSON.stringify(value));
  return /^[^\s"'=]+$/.test(value) ? printable(value) : printable(JSON.stringify(value));
}

/** Whoever names something must not be able to steer the terminal or to forge a line. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/g, escapeOf);
}

function escapeOf(sign: string): string {
  return sign === "\t" ? "  " : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
