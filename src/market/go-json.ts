/**
 * JSON as Go's decoder reads it from a stream: the first value counts, bytes behind it do not, and what is wrong is told in
 * its words, by which tenants' tools know it. Names that stand twice are kept twice, and numbers as they are written: what
 * they mean is for whoever knows where they go.
 */

export type GoJson = null | boolean | string | GoNumber | GoObject | readonly GoJson[];

interface GoNumber {
  readonly digits: string;
}

export interface GoObject {
  readonly fields: readonly (readonly [name: string, value: GoJson])[];
}

interface Bounds {
  readonly mostDepth: number;
  /** All values in it, however deep: reading one takes about a microsecond. */
  readonly mostValues: number;
  /** Nothing may stand behind the value, as in a text that is read as a whole. */
  readonly alone?: boolean;
}

/** Throws a SyntaxError with Go's words; there are none for too many values. */
export function readFirstValue(text: string, { mostDepth, mostValues, alone = false }: Bounds): GoJson {
  let at = 0;
  let values = 0;

  function skipSpace(): void {
    for (let sign = text.charCodeAt(at); isSpace(sign); sign = text.charCodeAt(at)) at += 1;
  }

  function unexpected(where: string): SyntaxError {
    if (at >= text.length) return new SyntaxError("unexpected EOF");
    return new SyntaxError(`invalid character ${quoteByte(text, at)} ${where}`);
  }

  function readValue(depth: number): GoJson {
    skipSpace();
    values += 1;
    if (values > mostValues) throw new SyntaxError(`it has more than ${mostValues} values`);
    const sign = text[at];
    if (sign === "{" || sign === "[") {
      if (depth >= mostDepth) throw new SyntaxError("exceeded max depth");
      at += 1;
      return sign === "{" ? readObject(depth + 1) : readArray(depth + 1);
    }
    if (sign === '"') return readString();
    if (sign === "-" || isDigit(sign)) return readNumber();
    const literal = literals.find(({ word }) => word[0] === sign);
    if (!literal) throw unexpected("looking for beginning of value");
    return readLiteral(literal);
  }

  function readObject(depth: number): GoObject {
    const fields: [string, GoJson][] = [];
    skipSpace();
    if (text[at] === "}") {
      at += 1;
      return { fields };
    }
    for (;;) {
      skipSpace();
      if (text[at] !== '"') throw unexpected("looking for beginning of object key string");
      const name = readString();
      skipSpace();
      if (text[at] !== ":") throw unexpected("after object key");
      at += 1;
      fields.push([name, readValue(depth)]);
      skipSpace();
      const sign = text[at];
      if (sign !== "," && sign !== "}") throw unexpected("after object key:value pair");
      at += 1;
      if (sign === "}") return { fields };
    }
  }

  function readArray(depth: number): GoJson[] {
    const items: GoJson[] = [];
    skipSpace();
    if (text[at] === "]") {
      at += 1;
      return items;
    }
    for (;;) {
      items.push(readValue(depth));
      skipSpace();
      const sign = text[at];
      if (sign !== "," && sign !== "]") throw unexpected("after array element");
      at += 1;
      if (sign === "]") return items;
    }
  }

  function readString(): string {
    at += 1;
    let read = "";
    for (;;) {
      plainCharacters.lastIndex = at;
      const [plain = ""] = plainCharacters.exec(text) ?? [];
      read += plain;
      at += plain.length;
      const sign = text[at];
      if (sign === '"') {
        at += 1;
        return read.toWellFormed();
      }
      if (sign !== "\\") throw unexpected("in string literal");
      at += 1;
      read += readEscape();
    }
  }

  function readEscape(): string {
    const sign = text[at] ?? "";
    const simple = escapes.get(sign);
    if (simple !== undefined) {
      at += 1;
      return simple;
    }
    if (sign !== "u") throw unexpected("in string escape code");
    at += 1;
    hexadecimal.lastIndex = at;
    const [digits = ""] = hexadecimal.exec(text) ?? [];
    at += digits.length;
    if (digits.length < 4) throw unexpected("in \\u hexadecimal character escape");
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  function readDigits(where: string): void {
    if (!isDigit(text[at])) throw unexpected(where);
    while (isDigit(text[at])) at += 1;
  }

  function readNumber(): GoNumber {
    const start = at;
    if (text[at] === "-") at += 1;
    if (text[at] === "0") at += 1;
    else readDigits("in numeric literal");
    if (text[at] === ".") {
      at += 1;
      readDigits("after decimal point in numeric literal");
    }
    if (text[at] === "e" || text[at] === "E") {
      at += 1;
      if (text[at] === "+" || text[at] === "-") at += 1;
      readDigits("in exponent of numeric literal");
    }
    return { digits: text.slice(start, at) };
  }

  function readLiteral({ word, value }: Literal): GoJson {
    for (const letter of word) {
      if (text[at] !== letter) throw unexpected(`in literal ${word} (expecting '${letter}')`);
      at += 1;
    }
    return value;
  }

  skipSpace();
  if (at >= text.length) throw new SyntaxError("EOF");
  const value = readValue(0);
  if (!alone) return value;
  skipSpace();
  if (at < text.length) throw unexpected("after top-level value");
  return value;
}

/** As plain values, in which of names that stand twice the last one counts. */
export function plainOf(json: GoJson): unknown {
  if (json === null || typeof json !== "object") return json;
  if (isList(json)) return json.map(plainOf);
  if (isNumber(json)) return Number(json.digits);
  // Without a prototype: a stranger chose these names.
  const plain: Record<string, unknown> = Object.create(null);
  for (const [name, value] of json.fields) plain[name] = plainOf(value);
  return plain;
}

export function isList(json: GoJson): json is readonly GoJson[] {
  return Array.isArray(json);
}

export function isNumber(json: GoJson): json is GoNumber {
  return typeof json === "object" && json !== null && "digits" in json;
}

/** A whole number of so many bits, without a sign; undefined where it is none. */
export function readUint(json: GoJson, bits: number): bigint | undefined {
  if (!isNumber(json) || !/^\d{1,20}$/.test(json.digits)) return undefined;
  const value = BigInt(json.digits);
  return value < 1n << BigInt(bits) ? value : undefined;
}

/** What Go calls it in its faults. */
export function kindOf(json: GoJson): string {
  if (json === null) return "null";
  if (typeof json === "boolean") return "bool";
  if (typeof json === "string") return "string";
  if (isList(json)) return "array";
  return isNumber(json) ? "number" : "object";
}

/** A text in quotes as Go's %q writes it, as far as anybody cares: control characters are in its own spelling. */
export function goQuote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /\\u00([0-9a-f]{2})/g,
    (_, hex: string) => goEscapes[hex] ?? `\\x${hex}`,
  );
}

interface Literal {
  readonly word: string;
  readonly value: null | boolean;
}

const literals: readonly Literal[] = [
  { word: "true", value: true },
  { word: "false", value: false },
  { word: "null", value: null },
];
// biome-ignore lint/suspicious/noControlCharactersInRegex: these end a text in JSON
const plainCharacters = /[^"\\\u0000-\u001f]*/y;
const hexadecimal = /[0-9a-fA-F]{0,4}/y;
const escapes = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["/", "/"],
  ["\\", "\\"],
  ['"', '"'],
]);
const goEscapes: Readonly<Record<string, string>> = { "07": "\\a", "0b": "\\v" };

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

function isDigit(sign: string | undefined): boolean {
  return sign !== undefined && sign >= "0" && sign <= "9";
}

/** Go reads bytes: of a character outside of ASCII it names the first one. */
function quoteByte(text: string, at: number): string {
  const [byte = 0] = Buffer.from(String.fromCodePoint(text.codePointAt(at) ?? 0));
  const sign = String.fromCharCode(byte);
  if (sign === "'") return "'\\''";
  if (sign === '"') return `'"'`;
  return `'${goQuote(sign).slice(1, -1)}'`;
}
