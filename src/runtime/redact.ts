/**
 * Takes secrets out of texts. Keys, tokens, recovery phrases, passwords, tenants' environment and registry credentials
 * are never printed, whoever logs them. Three ways to know one: by the name of its field (secret-names.ts), by its looks
 * (secret-shapes.ts), and by its value, for what the program has loaded itself (known-secrets.ts).
 */
import { createKnownSecrets } from "./known-secrets.ts";
import { findSecretShapes } from "./secret-shapes.ts";

export const redacted = "[redacted]";

export interface Redactor {
  /** The text with every secret in it replaced. */
  text(text: string): string;
  /**
   * Masks this secret from now on, in plain, JSON, URL, base64 and hex. Call it for whatever secret is read from a
   * file, a flag or the environment. Returns how to forget it, for tokens that are replaced by newer ones.
   * A secret of less than 6 characters cannot be told from ordinary words and is masked only under its name.
   */
  register(secret: string | Uint8Array): () => void;
  /** Grows with every secret registered: what was made plain before may have to be looked at again. */
  readonly version: number;
  /** Characters of the longest secret known by value, as written. */
  readonly longestChars: number;
}

export function createRedactor(): Redactor {
  const known = createKnownSecrets();
  let version = 0;
  return {
    text(text) {
      const spans: Span[] = [];
      const found = (start: number, end: number) => spans.push([start, end]);
      findSecretShapes(text, found);
      known.find(text, found);
      return spans.length === 0 ? text : mask(text, spans);
    },
    register(secret) {
      version += 1;
      return known.add(secret);
    },
    get version() {
      return version;
    },
    get longestChars() {
      return known.longestChars;
    },
  };
}

type Span = readonly [start: number, end: number];

/** Spans of all three kinds are found in the same text and joined where they overlap, so none spoils another. */
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
