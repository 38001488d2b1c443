/** Reads path and headers of a request as the Go provider's router does: unescaped, and redirected where not clean. */
import type { IncomingMessage } from "node:http";
import { goQuote } from "../../market/go-json.ts";

type RequestPath =
  | { readonly kind: "path"; readonly path: string; readonly query: string }
  | { readonly kind: "unclean"; readonly location: string }
  | { readonly kind: "malformed" };

/** Scheme and host, of a request as to a proxy. */
const absoluteForm = /^https?:\/\/[^/?]*/i;

export function readPath(target: string): RequestPath {
  const origin = target.startsWith("/") ? "" : (absoluteForm.exec(target)?.[0] ?? "");
  const questionMark = target.indexOf("?", origin.length);
  const raw = questionMark < 0 ? target.slice(origin.length) : target.slice(origin.length, questionMark);
  const query = questionMark < 0 ? "" : target.slice(questionMark + 1);
  const path = raw.includes("%") ? unescaped(raw) : raw;
  if (path === undefined) return { kind: "malformed" };
  if (!mayBeUnclean.test(path)) return { kind: "path", path, query };
  const clean = cleaned(path);
  if (clean === path) return { kind: "path", path, query };
  return { kind: "unclean", location: `${origin}${escaped(clean)}${questionMark < 0 ? "" : `?${query}`}` };
}

/** Not beginning with a slash, two of them in a row, or a segment that begins with a dot. */
const mayBeUnclean = /^(?!\/)|\/[/.]/;

function cleaned(path: string): string {
  const pieces: string[] = [];
  for (const piece of path.split("/")) {
    if (piece === "..") pieces.pop();
    else if (piece !== "" && piece !== ".") pieces.push(piece);
  }
  const isFolder = path.endsWith("/") && pieces.length > 0;
  return `/${pieces.join("/")}${isFolder ? "/" : ""}`;
}

function unescaped(text: string): string | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined;
  const bytes = Buffer.from(text, "latin1");
  let size = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === percent) at += 2;
    bytes[size] = byte === percent ? (digit(bytes[at - 1]) << 4) | digit(bytes[at]) : byte;
    size += 1;
  }
  return bytes.toString("utf8", 0, size);
}

const percent = 0x25;

function digit(byte = 0): number {
  return byte <= 0x39 ? byte & 15 : (byte & 7) + 9;
}

/** Escapes a path as Go does. */
function escaped(path: string): string {
  return Array.from(Buffer.from(path), (byte) => escapes[byte]).join("");
}

const escapes = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  const isKept = /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(character);
  return isKept ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

export class NotANumber extends Error {
  override readonly name = "NotANumber";
}

/** A 64-bit number has no more digits. */
const mostDigits = 20;

export function parsePathDseq(text: string): bigint {
  return parseUint(text, 2n ** 64n - 1n);
}

export function parsePathSeq(text: string): number {
  return Number(parseUint(text, 2n ** 32n - 1n));
}

function parseUint(text: string, most: bigint): bigint {
  if (!/^[0-9]+$/.test(text)) throw new NotANumber(parseError(text, "invalid syntax"));
  const digits = text.replace(/^0+(?=.)/, "");
  const value = digits.length > mostDigits ? most + 1n : BigInt(digits);
  if (value > most) throw new NotANumber(parseError(text, "value out of range"));
  return value;
}

function parseError(text: string, reason: string): string {
  return `strconv.ParseUint: parsing ${goQuote(text)}: ${reason}`;
}

// Raw headers: Node's parsed ones cost a quarter of a whole response.

/** The first of that name, which is in lower case. */
export function firstHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) if (isNamed(rawHeaders[at], name)) return rawHeaders[at + 1];
  return undefined;
}

export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && isNamed(rawHeaders[at - 1], name));
}

export function countHeaders({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (isNamed(rawHeaders[at], name)) count += 1;
  return count;
}

function isNamed(given: string | undefined, name: string): boolean {
  return given?.length === name.length && given.toLowerCase() === name;
}
