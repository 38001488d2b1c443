/** What the program says while it works. Message first, then fields; secrets never get past it. */
import type { Writable } from "node:stream";
import { types } from "node:util";
import { type Clock, formatTime, realClock } from "./clock.ts";
import { systemCodeOf } from "./errors.ts";
import { type Plain, type PlainObject, plainText, plainValue } from "./plain-value.ts";
import { createRedactor, type Redactor } from "./redact.ts";

export type Fields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  /** Something outside failed and is tried again, or needs an operator's attention. One line in the plain format, without a stack. */
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log whose every line carries these fields as well, for instance `{ module: "journal" }`. */
  with(fields: Fields): Log;
}

/** For tests that do not look at the log. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silentLog,
};

const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const;
export type LogLevel = keyof typeof levels;

export type LogTimestamp = "" | "rfc3339" | "rfc3339nano" | "kitchen";

export interface LogOptions {
  readonly level?: LogLevel;
  readonly format?: "plain" | "json";
  /** Only the plain format has colours. */
  readonly color?: boolean;
  /** Without one, plain lines carry no time (whoever collects them stamps them), and JSON lines carry rfc3339nano. */
  readonly timestamp?: LogTimestamp;
  readonly destination?: LogDestination;
  readonly clock?: Pick<Clock, "now">;
  readonly redactor?: Redactor;
}

export interface RootLog extends Log {
  /** Lines that never got out, because nobody reads them any more or because they could not be written down. */
  readonly lost: number;
}

type Write = (level: LogLevel, message: string, fields: PlainObject) => void;

export function createLog(options: LogOptions = {}): RootLog {
  const { level = "info", format = "plain", redactor = createRedactor() } = options;
  const destination = options.destination ?? streamDestination(process.stderr);
  const write = format === "json" ? jsonWriter(options, destination) : plainWriter(options, destination);
  let failures = 0;

  /** A log call is never the reason why something fails. */
  function enter(entryLevel: LogLevel, message: string, base: PlainObject, fields: Fields | undefined): void {
    try {
      const own = fields === undefined ? undefined : plainFields(fields, redactor);
      // By type it is a text; anything else is treated like a field, since it may hold anything.
      const text =
        typeof message === "string" ? plainText(message, redactor) : JSON.stringify(plainValue(message, redactor));
      write(entryLevel, text, own ? { ...base, ...own } : base);
    } catch {
      failures += 1;
    }
  }

  function logWith(fields: PlainObject): Log {
    let base = fields;
    let seen = redactor.version;
    /** A secret that was registered since may stand in the fields that were made plain before. */
    const baseNow = () => {
      if (seen !== redactor.version) base = plainFields(base, redactor);
      seen = redactor.version;
      return base;
    };
    const at = (entryLevel: LogLevel) =>
      levels[entryLevel] < levels[level]
        ? () => undefined
        : (message: string, own?: Fields) => enter(entryLevel, message, baseNow(), own);
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (own) => logWith({ ...baseNow(), ...plainFields(own, redactor) }),
    };
  }

  const root = logWith({});
  return {
    ...root,
    get lost() {
      return failures + destination.lost;
    },
  };
}

/** Fields are an object by type, but a log must also survive what the compiler did not see. */
function plainFields(fields: unknown, redactor: Redactor): PlainObject {
  const plain = plainValue(types.isNativeError(fields) ? { error: fields } : fields, redactor);
  return typeof plain === "object" && plain !== null && !Array.isArray(plain) ? plain : { value: plain };
}

function plainWriter(options: LogOptions, destination: LogDestination): Write {
  const { color = false, timestamp = "" } = options;
  const stamp = createStamp(options, timestamp);
  return (level, message, fields) => {
    destination.write(formatLine({ time: stamp(), level, message, fields }, color));
  };
}

function jsonWriter(options: LogOptions, destination: LogDestination): Write {
  const stamp = createStamp(options, options.timestamp || "rfc3339nano");
  return (level, message, fields) => {
    const named = Object.entries(fields).map(([name, value]) => [reserved.includes(name) ? `${name}_` : name, value]);
    destination.write(`${JSON.stringify({ level, time: stamp(), ...Object.fromEntries(named), msg: message })}\n`);
  };
}

/** Every line has these; a field of such a name stands beside it under another one. */
const reserved = ["level", "time", "msg"];

/** In UTC, in the notations that Go gives these names. A day has many lines per second, so a second is written once. */
function createStamp({ clock = realClock }: LogOptions, timestamp: LogTimestamp): () => string {
  let second = Number.NaN;
  let written = "";
  return () => {
    const ms = clock.now();
    if (Math.floor(ms / 1e3) !== second) {
      second = Math.floor(ms / 1e3);
      written = formatTime(second * 1e3).slice(0, 19);
    }
    if (timestamp === "rfc3339") return `${written}Z`;
    if (timestamp === "rfc3339nano") return `${written}.${String(Math.floor(ms) % 1e3).padStart(3, "0")}Z`;
    return timestamp === "kitchen" ? kitchenTime(written) : "";
  };
}

/** "3:04PM" */
function kitchenTime(iso: string): string {
  const hour = Number(iso.slice(11, 13));
  return `${hour % 12 || 12}:${iso.slice(14, 16)}${hour < 12 ? "AM" : "PM"}`;
}

// Where log lines go: a stream that may be slow, closed or full, none of which may stop the program.

/** Lines that wait for a slow reader; then lines are dropped and counted. */
export const logBufferedBytes = 8 * 1024 * 1024;

interface LogDestination {
  write(line: string): void;
  /** Lines that never got out. */
  readonly lost: number;
}

export function streamDestination(stream: Writable): LogDestination {
  let lost = 0;
  let gone = false;
  stream.on("error", (error) => {
    lost += 1;
    // Whoever read the lines has left and does not come back; a full disk may get room again.
    gone ||= systemCodeOf(error) === "EPIPE" || stream.destroyed;
  });
  return {
    write(line) {
      if (gone || stream.writableLength > logBufferedBytes) lost += 1;
      else stream.write(line);
    },
    get lost() {
      return lost;
    },
  };
}

/** The plain format: one line per entry that a person can read, and below it, indented, what needs more room. */
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

function formatLine({ time, level, message, fields }: LogEntry, color: boolean): string {
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
