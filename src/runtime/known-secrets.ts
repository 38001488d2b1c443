/**
 * Secrets the program has loaded, found again wherever they turn up and however they are written. A private key in hex
 * looks like a transaction hash, a password like any word: only knowing them helps.
 */
import { Buffer } from "node:buffer";
import { invariant } from "./invariant.ts";
import { limits } from "./limits.ts";

export interface KnownSecrets {
  /** Returns how to forget it again, for tokens that are replaced by newer ones. */
  add(secret: string | Uint8Array): () => void;
  find(text: string, found: (start: number, end: number) => void): void;
  readonly longestChars: number;
}

/** Written forms are looked up by their first characters; no form is shorter than this. */
const gramChars = 4;
/** Four characters at four bits each: as many flags, so that few positions of a text need a second look. */
const gramHashes = 65_536;
/** Lines of a key that are worth knowing by themselves; shorter ones are headers such as "type: secp256k1". */
const shortestLineChars = 16;
/** Hex of at least this many bytes is taken for a key rather than for a password of digits. */
const shortestKeyBytes = 16;

export function createKnownSecrets(): KnownSecrets {
  const secrets = new Set<readonly string[]>();
  const formsByGram = new Map<string, string[]>();
  /** One flag for each hash of the first characters of some form. */
  const begins = new Uint8Array(gramHashes);
  let longestChars = 0;

  function index(forms: readonly string[]): void {
    for (const form of forms) {
      const gram = form.slice(0, gramChars);
      const alike = formsByGram.get(gram);
      if (alike) alike.push(form);
      else formsByGram.set(gram, [form]);
      begins[hashOf(gram)] = 1;
      longestChars = Math.max(longestChars, form.length);
    }
  }

  function forget(forms: readonly string[]): void {
    if (!secrets.delete(forms)) return;
    formsByGram.clear();
    begins.fill(0);
    longestChars = 0;
    for (const left of secrets) index(left);
  }

  return {
    add(secret) {
      invariant(secrets.size < limits.redactorSecrets, "more secrets are registered than a provider has");
      invariant(secret.length <= limits.redactorSecretMostChars, "a secret is longer than any key or password");
      const forms = formsOf(secret);
      secrets.add(forms);
      index(forms);
      return () => forget(forms);
    },
    find(text, found) {
      if (formsByGram.size === 0) return;
      let hash = 0;
      for (let next = 0; next < text.length; next += 1) {
        hash = nextHash(hash, text.charCodeAt(next));
        if (begins[hash] !== 1 || next < gramChars - 1) continue;
        const start = next - gramChars + 1;
        for (const form of formsByGram.get(text.slice(start, next + 1)) ?? []) {
          if (text.startsWith(form, start)) found(start, start + form.length);
        }
      }
    },
    get longestChars() {
      return longestChars;
    },
  };
}

/** The hash of the last four characters: whatever came before has been shifted out. */
function nextHash(hash: number, code: number): number {
  return ((hash << 4) ^ code) & (gramHashes - 1);
}

function hashOf(gram: string): number {
  let hash = 0;
  for (let index = 0; index < gram.length; index += 1) hash = nextHash(hash, gram.charCodeAt(index));
  return hash;
}

/** Every way a secret may be written in a text. What is too short to tell from ordinary words is left out. */
function formsOf(secret: string | Uint8Array): string[] {
  const least = limits.redactorSecretLeastChars;
  const forms = typeof secret === "string" ? formsOfText(secret.trim()) : formsOfBytes(Buffer.from(secret));
  return secret.length < least ? [] : [...new Set(forms)].filter((form) => form.length >= least);
}

function formsOfText(text: string): string[] {
  const hex = text.replace(/^0x/i, "");
  const key =
    hex.length >= 2 * shortestKeyBytes && /^(?:[0-9a-f]{2})+$/i.test(hex) ? Buffer.from(hex, "hex") : undefined;
  // The armour around a key is no secret, each line within it is.
  const lines = text.split(/\s*\n\s*/).filter((line) => line.length >= shortestLineChars && !line.startsWith("-----"));
  const written = [text, ...lines].flatMap((part) => [...escapesOf(part), ...formsOfBytes(Buffer.from(part, "utf8"))]);
  return key ? written.concat(formsOfBytes(key)) : written;
}

function escapesOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(text.toWellFormed());
  return [
    text,
    json,
    JSON.stringify(json).slice(1, -1),
    // Go writes these three as escapes in JSON.
    json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    url,
    url.replaceAll("%20", "+"),
    url.replace(/%../g, (byte) => byte.toLowerCase()),
    encodeURI(text.toWellFormed()),
  ];
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
  return [bytes.toString("base64").replace(/=+$/, ""), ...inside].flatMap((text) => [
    text,
    text.replaceAll("+", "-").replaceAll("/", "_"),
  ]);
}
