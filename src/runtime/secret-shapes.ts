/**
 * What gives a secret away by its looks, in any text. The patterns run on whatever a stranger sends us, so none of them
 * may backtrack far: repeats are of disjoint characters or have a bound.
 */
import { Buffer } from "node:buffer";
import { findRecoveryPhrases } from "./recovery-phrase.ts";

export type Found = (start: number, end: number) => void;

interface Shape {
  /** Without this sign in a text the pattern is not tried. */
  readonly sign: string;
  /** Masks what it matches, but for its first group. */
  readonly pattern: RegExp;
  /** A second look at what would be masked. */
  readonly check?: (masked: string) => boolean;
}

/** Names that announce a secret when something is assigned to them in a text. */
const announced =
  "pass(?:word|wd|phrase)|secret|token|mnemonic|jwt|hmac|credential|(?:private|priv|api|access)[_-]?key";
/** A quoted text, also one quoted inside another quoted one, or else all up to the next space; or what was masked before. */
const value = String.raw`(?:\[redacted\]|"(?:[^"\\]|\\[\s\S])*"?|'[^']*'?|(?<quote>\\+["'])[\s\S]*?(?:(?<!\\)\k<quote>|$)|[^\s"'\\]\S*)`;
/** Prose speaks of "bearer tokens" and "authorization" too; what is masked must not be an ordinary word. */
const notProse = String.raw`(?=[^\s"',;]{0,64}[^a-z\s"',;]|[^\s"',;]{20})`;
/** But for the parts of a certificate's name, which look the same. */
const variable = "(?!(?:CN|OU|ST|DC)=)[A-Z][A-Z0-9_]+";

const shapes: readonly Shape[] = [
  // Private keys in PEM or in the armour of Tendermint, OpenSSH and PGP, whole or cut off.
  {
    sign: "PRIVATE KEY",
    pattern:
      /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[\s\S]*?(?:-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}-*|$)/g,
  },
  // The same in base64, as a kubeconfig has it, unless it is a certificate.
  { sign: "LS0tLS1CRUdJTi", pattern: /LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[\w+/=-]*/g },
  // JSON in base64: every JWT and every registry's auth file begins so.
  { sign: "eyJ", pattern: /eyJ[\w+/=-]{8,}(?:\.[\w+/=-]*){0,4}/g },
  // An Authorization header, by its scheme or by its name.
  { sign: "earer", pattern: scheme("[Bb]earer", `${notProse}[^\\s"',;]{6,}`) },
  { sign: "EARER", pattern: scheme("BEARER", `${notProse}[^\\s"',;]{6,}`) },
  { sign: "asic", pattern: scheme("[Bb]asic", "[\\w+/-]{4,}=*"), check: isUserAndPassword },
  { sign: "ASIC", pattern: scheme("BASIC", "[\\w+/-]{4,}=*"), check: isUserAndPassword },
  { sign: ":", pattern: new RegExp(`([Aa](?:uthorization|UTHORIZATION)["'\\\\]*\\s?:\\s?)${notProse}\\S.*`, "g") },
  { sign: ":", pattern: /([Cc](?:ookie|OOKIE)["'\\]*\s?:\s?)(?=.{1,256}=)\S.*/g },
  // Access tokens and extended private keys that carry their maker's mark.
  { sign: "_", pattern: /(?:gh[oprsu]_|github_pat_|dckr_[op]at_|npm_)[\w-]{12,}/g },
  { sign: "-", pattern: /(?:glpat-|xox[a-z]-)[\w-]{12,}/g },
  { sign: "xprv", pattern: /xprv\w{12,}/g },
  // User and password of a URL, up to the last @ before the path; a password may hold a slash where no port would.
  { sign: "@", pattern: /(:\/\/)[^\s/?#"<>]+(?=@)/g },
  { sign: "@", pattern: /(:\/\/)[^\s/?#"<>@:]*:(?!\d+[/?#])[^\s"<>@]{1,256}(?=@)/g },
  // password=…, "token": …, and password: … where YAML has no quotes.
  { sign: "=", pattern: new RegExp(`((?:${announced})[\\w.-]{0,64}["'\\\\]*\\s?(?:=>?|:=)\\s?)${value}`, "gi") },
  { sign: ":", pattern: new RegExp(`((?:${announced})[\\w.-]{0,64}\\\\*["']\\s?:\\s?)${value}`, "gi") },
  { sign: ":", pattern: new RegExp(`((?:pass(?:word|wd|phrase)|mnemonic)\\s?:\\s?)${value}`, "gi") },
  // An environment variable: the rest of its line, the rest of its quotes, or up to the next space.
  { sign: "=", pattern: new RegExp(`^([ \\t]*(?:- +)?(?:export +)?${variable}=)(?!=).+`, "gm") },
  { sign: "=", pattern: new RegExp(`((["'])${variable}=)(?!=)(?:(?!\\2)[^\\\\]|\\\\[\\s\\S])+`, "g") },
  { sign: "=", pattern: new RegExp(`((?<![A-Za-z0-9_])${variable}=)(?!=)${value}`, "g") },
];

function scheme(name: string, token: string): RegExp {
  return new RegExp(`(${name}(?:[\\s"':=]|%20|\\\\[nrt])+)${token}`, "g");
}

/** Nearly every message has none of these signs and is through after one look. */
const anySign = /[=:@_-]|eyJ|LS0tLS1|PRIVATE KEY|earer|EARER|asic|ASIC|xprv/;

export function findSecretShapes(text: string, found: Found): void {
  findRecoveryPhrases(text, found);
  if (!anySign.test(text)) return;
  for (const { sign, pattern, check } of shapes) {
    if (!text.includes(sign)) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const start = match.index + (match[1]?.length ?? 0);
      if (!check || check(text.slice(start, pattern.lastIndex))) found(start, pattern.lastIndex);
    }
  }
}

/** "Basic" is an ordinary word too; what follows it in a header is "user:password" in base64. */
function isUserAndPassword(masked: string): boolean {
  return /^[\t\x20-\x7e]*:/.test(Buffer.from(masked, "base64").toString("latin1"));
}
