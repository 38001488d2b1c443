/** Any value as plain JSON, bounded in depth and length and without secrets. It never throws; both log formats print only its output. */
import { types } from "node:util";
import { formatTime } from "./clock.ts";
import { ProviderError } from "./errors.ts";
import { type Redactor, redacted } from "./redact.ts";
/** A log line is for people: longer strings are cut. */
export const logStringChars = 4_096;
/** Deep enough for a Kubernetes pod's container environment, the deepest thing anybody reads in a log. */
export const logDepth = 8;
/** Entries shown of one list or object; the rest is counted. */
export const logEntries = 100;
/** One whole line, roughly: container runtimes cut lines at 16 KiB, collectors at 64. */
export const logLineChars = 65_536;
/** Read beyond a cut, so that a secret that crosses it is still seen whole: the largest RSA key is 3 KiB. */
export const logSlackChars = 8_192;

export type Plain = null | boolean | number | string | Plain[] | PlainObject;
export interface PlainObject {
  [name: string]: Plain;
}

type Entries = readonly (readonly [name: string, value: unknown])[];

interface Walk {
  readonly redactor: Redactor;
  /** The objects we are inside of: their number is the depth, and to meet one again is a cycle. */
  readonly inside: object[];
  charsLeft: number;
}

export function plainValue(value: unknown, redactor: Redactor): Plain {
  return walk(value, startWalk(redactor)) ?? null;
}

export function plainText(text: string, redactor: Redactor): string {
  return showText(text, startWalk(redactor));
}

function startWalk(redactor: Redactor): Walk {
  return { redactor, inside: [], charsLeft: logLineChars };
}

/** `undefined` means: leave it out, as JSON does. */
function walk(value: unknown, state: Walk): Plain | undefined {
  // What stands between two values. It counts too: small lists of small lists would else have no end.
  state.charsLeft -= 2;
  switch (typeof value) {
    case "string":
      return showText(value, state);
    case "number":
      state.charsLeft -= 16;
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "undefined":
      return undefined;
    case "object":
      return value === null ? null : walkObject(value, state);
    case "function":
      return `[function ${showText(String(value.name), state)}]`;
    default:
      return showText(String(value), state);
  }
}

function walkObject(object: object, state: Walk): Plain | undefined {
  if (state.inside.includes(object)) return "[circular]";
  if (state.inside.length >= logDepth) return cutOff("[deeper]", state);
  if (state.charsLeft <= 0) return cutOff("[more]", state);
  state.inside.push(object);
  try {
    return walkInto(object, state);
  } catch (error) {
    // A getter, a proxy or a toJSON of somebody else's threw. What it threw may be anything; its kind is enough.
    return `[unreadable: ${types.isNativeError(error) ? "error" : typeof error}]`;
  } finally {
    state.inside.pop();
  }
}

function cutOff(mark: string, state: Walk): string {
  state.charsLeft -= mark.length;
  return mark;
}

function walkInto(object: object, state: Walk): Plain | undefined {
  if (Array.isArray(object)) return walkList(object, object.length, state);
  if (object instanceof Error) return walkEntries(errorEntries(object), 0, state);
  // Bytes may be a key, and nobody reads bytes in a log.
  if (ArrayBuffer.isView(object) || types.isAnyArrayBuffer(object)) return `[${object.byteLength} bytes]`;
  if (types.isDate(object)) return Number.isNaN(object.getTime()) ? "[invalid time]" : formatTime(object.getTime());
  if (types.isSet(object)) return walkList(firstOf(object), object.size, state);
  if (types.isMap(object)) return walkEntries(mapEntries(object, state), object.size, state);
  if (isHeaders(object)) return walkEntries(firstOf(object), 0, state);
  if (types.isRegExp(object) || types.isBoxedPrimitive(object) || object instanceof URLSearchParams) {
    return showText(String(object), state);
  }
  if ("toJSON" in object && typeof object.toJSON === "function") return walk(object.toJSON(), state);
  const names = Object.keys(object);
  return walkEntries(readEntries(object, names.slice(0, logEntries)), names.length, state);
}

/** By its tag: the class itself would bring the whole of `fetch` into memory, 8 MB, for the first line that is logged. */
function isHeaders(object: object): object is Headers {
  return Reflect.get(object, Symbol.toStringTag) === "Headers";
}

/** Each field is read by itself, so that one getter that throws costs one field. */
function readEntries(object: object, names: readonly string[]): Entries {
  return names.map((name) => {
    try {
      return [name, Reflect.get(object, name)];
    } catch (error) {
      return [name, `[unreadable: ${typeof error}]`];
    }
  });
}

function errorEntries(error: Error): Entries {
  if (error instanceof ProviderError) return readEntries(error, ["code", "message", "advice", "details", "cause"]);
  const names = new Set(["name", "message", ...Object.keys(error).slice(0, logEntries), "errors", "stack", "cause"]);
  return readEntries(error, [...names]);
}

function mapEntries(map: Map<unknown, unknown>, state: Walk): Entries {
  return firstOf(map).map(([key, value]) => [
    typeof key === "string" ? key : JSON.stringify(walk(key, state) ?? null),
    value,
  ]);
}

/** A set or map may be huge; no more of it is copied than is shown. */
function firstOf<T>(items: Iterable<T>): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.push(item) === logEntries) break;
  }
  return taken;
}

function walkEntries(entries: Entries, total: number, state: Walk): Plain {
  const out: PlainObject = {};
  for (const [name, value] of entries) {
    const shown = isSecretName(name) ? hide(value) : walk(value, state);
    if (shown !== undefined) put(out, clean(name, logNameChars, state), shown);
  }
  if (total > entries.length) put(out, "…", cutOff(`${total - entries.length} more`, state));
  return out;
}

/** Whether a secret is set at all may be seen. */
function hide(value: unknown): Plain | undefined {
  if (value === undefined || value === null || value === "" || typeof value === "boolean") return value;
  return redacted;
}

function walkList(items: readonly unknown[], total: number, state: Walk): Plain {
  // A copy by Array.from has no holes.
  const taken = Array.from(items.slice(0, logEntries));
  const shown = taken.map((item) => walk(item, state) ?? null);
  return total > taken.length ? [...shown, cutOff(`… ${total - taken.length} more`, state)] : shown;
}

function put(out: PlainObject, name: string, value: Plain): void {
  let free = name;
  for (let number = 2; Object.hasOwn(out, free); number += 1) free = `${name} (${number})`;
  if (free !== "__proto__") out[free] = value;
  // An assignment would set the prototype instead of a field.
  else Object.defineProperty(out, free, { value, enumerable: true, configurable: true, writable: true });
}

function showText(text: string, state: Walk): string {
  return clean(text, Math.max(0, Math.min(logStringChars, state.charsLeft)), state);
}

/** Secrets are looked for beyond the cut, so that half of one is not left before it. */
function clean(text: string, most: number, state: Walk): string {
  const { redactor } = state;
  if (most === 0 && text !== "") return cutOff("[more]", state);
  const slack = Math.max(logSlackChars, redactor.longestChars);
  const shown = redactor.text(text.slice(0, most + slack));
  state.charsLeft -= Math.min(shown.length, most);
  return shown.length <= most ? shown : `${shown.slice(0, most)}… (${text.length} characters)`;
}

/** A field name longer than this is data in the wrong place. */
export const logNameChars = 256;

/** Anywhere in the name, after it was put in lower case and stripped of separators. */
const secretPart = new RegExp(
  [
    "mnemonic|seedphrase|recoveryphrase|passphrase|password|passwd",
    "secret|token|jwt|bearer|authorization|cookie|hmac|credential",
    "privatekey|privkey|signingkey|encryptionkey|masterkey|apikey|accesskey|clientkey|tlskey",
    // What Kubernetes calls the contents of a Secret.
    "dockerconfig|dockercfg|stringdata",
    // Tenants put their secrets there.
    "(?:env|envs|environ|environment|envvars?|environmentvariables?)$",
  ].join("|"),
);

/** The whole name. `key`, `keys` and `kid` are not here: they name queue keys, attributes and public key ids. */
const secretWhole = new Set(["auth", "auths", "pass", "pwd", "pin", "otp", "seed", "xprv"]);

/** "secretName" and "token_file" tell where a secret is, not what it is; an operator needs to read that. */
const whereabouts = [
  /[_.-](?:name|path|file|dir|count|kind|type)$/i,
  /[a-z0-9](?:Name|Path|File|Dir|Count|Kind|Type)$/,
] as const;

export function isSecretName(name: string): boolean {
  const bare = name
    .slice(0, logNameChars)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
  return secretWhole.has(bare) || (secretPart.test(bare) && !whereabouts.some((pattern) => pattern.test(name)));
}
