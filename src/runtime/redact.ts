/**
 * Takes secrets out of texts: by the name of the field, by shape (PEM, JWT, URL), and by value. A key in hex looks like a hash and a
 * password like a word, so whoever loads a secret registers it.
 */
import { Buffer } from "node:buffer";
import { invariant } from "./invariant.ts";
import { redactorSecretLeastChars, redactorSecretMostChars } from "./limits.ts";

/** Secrets known by value: keys, passwords and tokens of one provider are a few dozen. */
export const redactorSecrets = 200;

export const redacted = "[redacted]";

export interface Redactor {
  /** The text with every secret in it replaced. */
  text(text: string): string;
  /**
   * Masks this secret from now on, in plain, JSON, URL, base64 and hex; returns how to forget it. One of less than 6 characters is
   * masked only under its field's name.
   */
  register(secret: string | Uint8Array): () => void;
  /** Grows with every secret registered: what was made plain before may have to be looked at again. */
  readonly version: number;
  /** Characters of the longest secret known by value, as written. */
  readonly longestChars: number;
}

/** They run on text of clients, so none may backtrack far: repeats are of disjoint characters or bounded. The first group is kept. */
const shapes: readonly RegExp[] = [
  // Private keys in PEM or in the armour of Tendermint, OpenSSH and PGP, whole or cut off.
  /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}-*|$)/g,
  // The same in base64, as a kubeconfig has it, unless it is a certificate.
  /LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=-]*/g,
  // JSON in base64: every JWT and every registry's auth file begins so.
  /eyJ[\w+/=-]{8,}(?:\.[\w+/=-]*){0,4}/g,
  // User and password of a URL, up to the last @ before the path; a password may hold a slash where no port would.
  /(:\/\/)(?:[^\s/?#"<>]+(?=@)|[^\s/?#"<>@:]*:(?!\d+[/?#])[^\s"<>@]{1,256}(?=@))/g,
];

/** Without one of these in a text, no shape is tried. */
const anySign = /PRIVATE KEY|LS0tLS1|eyJ|:\/\//;

export function createRedactor(): Redactor {
  const secrets = new Set<readonly string[]>();
  let known: RegExp | undefined;
  let longestChars = 0;
  let version = 0;

  function learn(): void {
    // The longest first, so that of two forms that begin alike the whole of the longer one is masked.
    const forms = [...new Set([...secrets].flat())].sort((a, b) => b.length - a.length);
    longestChars = forms[0]?.length ?? 0;
    // Looking ahead, it finds also what begins inside of another one.
    known = forms.length === 0 ? undefined : new RegExp(`(?=(${forms.map(literally).join("|")}))`, "g");
  }

  return {
    text(text) {
      const spans: Span[] = [];
      if (known) for (const { index, 1: form = "" } of text.matchAll(known)) spans.push([index, index + form.length]);
      if (anySign.test(text)) {
        for (const { 0: match, 1: kept = "", index } of shapes.flatMap((shape) => [...text.matchAll(shape)]))
          spans.push([index + kept.length, index + match.length]);
      }
      return spans.length === 0 ? text : mask(text, spans);
    },
    register(secret) {
      invariant(secrets.size < redactorSecrets, "more secrets are registered than a provider has");
      invariant(secret.length <= redactorSecretMostChars, "a secret is longer than any key or password");
      const forms = formsOf(secret);
      secrets.add(forms);
      learn();
      version += 1;
      return () => {
        if (secrets.delete(forms)) learn();
      };
    },
    get version() {
      return version;
    },
    get longestChars() {
      return longestChars;
    },
  };
}

type Span = readonly [start: number, end: number];

/** Joined where they overlap, so that none spoils another. */
function mask(text: string, spans: Span[]): string {
  spans.sort((a, b) => a[0] - b[0]);
  let out = "";
  let maskedTo = 0;
  for (const [start, end] of spans) {
    if (out === "" || start > maskedTo) out += text.slice(maskedTo, start) + redacted;
    maskedTo = Math.max(maskedTo, end);
  }
  return out + text.slice(maskedTo);
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** Lines of a key that are worth knowing by themselves; shorter ones are headers such as "type: secp256k1". */
const shortestLineChars = 16;
/** Hex of at least this many digits is taken for a key rather than for a password of digits. */
const keyInHex = /^(?:0x)?((?:[0-9a-f]{2}){16,})$/i;

/** Every way a secret may be written in a text. What is too short to tell from ordinary words is left out. */
function formsOf(secret: string | Uint8Array): string[] {
  const least = redactorSecretLeastChars;
  if (secret.length < least) return [];
  const forms = typeof secret === "string" ? formsOfText(secret.trim()) : formsOfBytes(Buffer.from(secret));
  return forms.filter((form) => form.length >= least);
}

function formsOfText(text: string): string[] {
  const key = keyInHex.exec(text)?.[1];
  // The armour around a key is no secret, each line within it is.
  const lines = text.split(/\s*\n\s*/).filter((line) => line.length >= shortestLineChars && !line.startsWith("-----"));
  const written = [text, ...lines].flatMap((part) => [...escapesOf(part), ...formsOfBytes(Buffer.from(part))]);
  return key === undefined ? written : written.concat(formsOfBytes(Buffer.from(key, "hex")));
}

function escapesOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(text.toWellFormed());
  // Go writes these three as escapes in JSON.
  const goJson = json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
  return [text, json, JSON.stringify(json).slice(1, -1), goJson, url, url.replaceAll("%20", "+")];
}

function formsOfBytes(bytes: Buffer): string[] {
  const hex = bytes.toString("hex");
  return [hex, hex.toUpperCase(), ...base64Forms(bytes)];
}

/** Base64 by itself, and what stays the same of it in the middle of something longer, as in "user:password". */
function base64Forms(bytes: Buffer): string[] {
  const inside = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const clean = Math.floor((before + bytes.length) / 3) * 4;
    return text.slice(before === 0 ? 0 : 4, clean);
  });
  const whole = bytes.toString("base64").replace(/=+$/, "");
  return [whole, ...inside].flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]);
}
