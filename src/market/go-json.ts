/** JSON as Go's stream decoder reads it: the first value counts, errors have Go's words, repeated names and digits are kept. */

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
  const reader = new GoJsonReader(text, mostDepth, mostValues);
  return reader.read(alone);
}

/** Each pattern matches at the place where the reader is, and may be empty. */
const space = /[ \t\n\r]*/y;
const digits = /\d*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these end a string in JSON
const plainChars = /[^"\\\u0000-\u001f]*/y;
const escapes = /(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const brokenUnicodeEscape = /(?:\\u[\da-fA-F]{0,3})?/y;
const literals = new Map<string, boolean | null>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

class GoJsonReader {
  readonly #text: string;
  readonly #mostDepth: number;
  readonly #mostValues: number;
  #at = 0;
  #values = 0;

  constructor(text: string, mostDepth: number, mostValues: number) {
    this.#text = text;
    this.#mostDepth = mostDepth;
    this.#mostValues = mostValues;
  }

  read(alone: boolean): GoJson {
    this.#skip(space);
    if (this.#at >= this.#text.length) throw new SyntaxError("EOF");
    const value = this.#readValue(0);
    this.#skip(space);
    if (alone && this.#at < this.#text.length) throw this.#unexpected("after top-level value");
    return value;
  }

  /** How many characters were skipped. */
  #skip(pattern: RegExp): number {
    pattern.lastIndex = this.#at;
    const [{ length } = ""] = pattern.exec(this.#text) ?? [];
    this.#at += length;
    return length;
  }

  /** Whether one of these characters is next; it is skipped. */
  #take(chars: string): boolean {
    const next = this.#text[this.#at];
    if (next === undefined || !chars.includes(next)) return false;
    this.#at += 1;
    return true;
  }

  #expect(chars: string, where: string): void {
    if (!this.#take(chars)) throw this.#unexpected(where);
  }

  #unexpected(where: string): SyntaxError {
    if (this.#at >= this.#text.length) return new SyntaxError("unexpected EOF");
    return new SyntaxError(`invalid character ${quoteByte(this.#text, this.#at)} ${where}`);
  }

  #readValue(depth: number): GoJson {
    this.#skip(space);
    this.#values += 1;
    if (this.#values > this.#mostValues) throw new SyntaxError(`it has more than ${this.#mostValues} values`);
    const char = this.#text.charAt(this.#at);
    if ((char === "{" || char === "[") && depth >= this.#mostDepth) throw new SyntaxError("exceeded max depth");
    if (this.#take("{")) return this.#readObject(depth + 1);
    if (this.#take("[")) return this.#readArray(depth + 1);
    if (this.#take('"')) return this.#readString();
    if (/[-\d]/.test(char)) return this.#readNumber();
    for (const [word, value] of literals) if (word[0] === char) return this.#readLiteral(word, value);
    throw this.#unexpected("looking for beginning of value");
  }

  #readObject(depth: number): GoObject {
    const fields: [string, GoJson][] = [];
    this.#skip(space);
    if (this.#take("}")) return { fields };
    for (;;) {
      this.#skip(space);
      this.#expect('"', "looking for beginning of object key string");
      const name = this.#readString();
      this.#skip(space);
      this.#expect(":", "after object key");
      fields.push([name, this.#readValue(depth)]);
      this.#skip(space);
      if (this.#take("}")) return { fields };
      this.#expect(",", "after object key:value pair");
    }
  }

  #readArray(depth: number): GoJson[] {
    const items: GoJson[] = [];
    this.#skip(space);
    if (this.#take("]")) return items;
    for (;;) {
      items.push(this.#readValue(depth));
      this.#skip(space);
      if (this.#take("]")) return items;
      this.#expect(",", "after array element");
    }
  }

  /** From behind the opening quote on. */
  #readString(): string {
    const start = this.#at;
    let hasEscapes = false;
    for (this.#skip(plainChars); this.#skip(escapes) > 0; this.#skip(plainChars)) hasEscapes = true;
    const raw = this.#text.slice(start, this.#at);
    if (this.#take('"')) return (hasEscapes ? JSON.parse(`"${raw}"`) : raw).toWellFormed();
    if (this.#skip(brokenUnicodeEscape) > 0) throw this.#unexpected("in \\u hexadecimal character escape");
    throw this.#unexpected(this.#take("\\") ? "in string escape code" : "in string literal");
  }

  #readDigits(where: string): void {
    if (this.#skip(digits) === 0) throw this.#unexpected(where);
  }

  #readNumber(): GoNumber {
    const start = this.#at;
    this.#take("-");
    if (!this.#take("0")) this.#readDigits("in numeric literal");
    if (this.#take(".")) this.#readDigits("after decimal point in numeric literal");
    if (this.#take("eE")) {
      this.#take("+-");
      this.#readDigits("in exponent of numeric literal");
    }
    return { digits: this.#text.slice(start, this.#at) };
  }

  #readLiteral(word: string, value: boolean | null): GoJson {
    for (const char of word) this.#expect(char, `in literal ${word} (expecting '${char}')`);
    return value;
  }
}

/** As plain values; of repeated names the last one counts. */
export function plainOf(json: GoJson): unknown {
  if (json === null || typeof json !== "object") return json;
  if (isList(json)) return json.map(plainOf);
  if (isNumber(json)) return Number(json.digits);
  // Without a prototype: a client chose these names.
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

/** An unsigned integer of so many bits; undefined where it is none. */
export function readUint(json: GoJson, bits: number): bigint | undefined {
  if (!isNumber(json) || !/^\d{1,20}$/.test(json.digits)) return undefined;
  const value = BigInt(json.digits);
  return value < 1n << BigInt(bits) ? value : undefined;
}

/** What Go calls it in its errors. */
export function kindOf(json: GoJson): string {
  if (json === null) return "null";
  if (typeof json === "boolean") return "bool";
  if (typeof json === "string") return "string";
  if (isList(json)) return "array";
  return isNumber(json) ? "number" : "object";
}

/** Like Go's %q, with its spelling of control characters. */
export function goQuote(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /\\u00([0-9a-f]{2})/g,
    (_, hex: string) => goEscapes[hex] ?? `\\x${hex}`,
  );
}

const goEscapes: Readonly<Record<string, string>> = { "07": "\\a", "0b": "\\v" };

/** Go reads bytes: of a character outside of ASCII it names the first one. */
function quoteByte(text: string, at: number): string {
  const [byte = 0] = Buffer.from(String.fromCodePoint(text.codePointAt(at) ?? 0));
  const char = String.fromCharCode(byte);
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  return `'${goQuote(char).slice(1, -1)}'`;
}
