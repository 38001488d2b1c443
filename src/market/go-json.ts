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
export function readFirstValue(text: string, bounds: Bounds): GoJson {
  return new GoJsonReader(text, bounds).read(bounds.alone ?? false);
}

/** Reads one value after the other from a text, from left to right. */
class GoJsonReader {
  readonly #text: string;
  readonly #mostDepth: number;
  readonly #mostValues: number;
  #at = 0;
  #values = 0;

  constructor(text: string, { mostDepth, mostValues }: Bounds) {
    this.#text = text;
    this.#mostDepth = mostDepth;
    this.#mostValues = mostValues;
  }

  read(alone: boolean): GoJson {
    this.#skipSpace();
    if (this.#at >= this.#text.length) throw new SyntaxError("EOF");
    const value = this.#readValue(0);
    if (!alone) return value;
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected("after top-level value");
    return value;
  }

  #skipSpace(): void {
    for (let sign = this.#text.charCodeAt(this.#at); isSpace(sign); sign = this.#text.charCodeAt(this.#at))
      this.#at += 1;
  }

  #unexpected(where: string): SyntaxError {
    if (this.#at >= this.#text.length) return new SyntaxError("unexpected EOF");
    return new SyntaxError(`invalid character ${quoteByte(this.#text, this.#at)} ${where}`);
  }

  #readValue(depth: number): GoJson {
    this.#skipSpace();
    this.#values += 1;
    if (this.#values > this.#mostValues) throw new SyntaxError(`it has more than ${this.#mostValues} values`);
    const sign = this.#text[this.#at];
    if (sign === "{" || sign === "[") {
      if (depth >= this.#mostDepth) throw new SyntaxError("exceeded max depth");
      this.#at += 1;
      return sign === "{" ? this.#readObject(depth + 1) : this.#readArray(depth + 1);
    }
    if (sign === '"') return this.#readString();
    if (sign === "-" || isDigit(sign)) return this.#readNumber();
    const literal = literals.find(({ word }) => word[0] === sign);
    if (!literal) throw this.#unexpected("looking for beginning of value");
    return this.#readLiteral(literal);
  }

  #readObject(depth: number): GoObject {
    const fields: [string, GoJson][] = [];
    this.#skipSpace();
    if (this.#text[this.#at] === "}") {
      this.#at += 1;
      return { fields };
    }
    for (;;) {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#unexpected("looking for beginning of object key string");
      const name = this.#readString();
      this.#skipSpace();
      if (this.#text[this.#at] !== ":") throw this.#unexpected("after object key");
      this.#at += 1;
      fields.push([name, this.#readValue(depth)]);
      this.#skipSpace();
      const sign = this.#text[this.#at];
      if (sign !== "," && sign !== "}") throw this.#unexpected("after object key:value pair");
      this.#at += 1;
      if (sign === "}") return { fields };
    }
  }

  #readArray(depth: number): GoJson[] {
    const items: GoJson[] = [];
    this.#skipSpace();
    if (this.#text[this.#at] === "]") {
      this.#at += 1;
      return items;
    }
    for (;;) {
      items.push(this.#readValue(depth));
      this.#skipSpace();
      const sign = this.#text[this.#at];
      if (sign !== "," && sign !== "]") throw this.#unexpected("after array element");
      this.#at += 1;
      if (sign === "]") return items;
    }
  }

  #readString(): string {
    this.#at += 1;
    let read = "";
    for (;;) {
      plainCharacters.lastIndex = this.#at;
      const [plain = ""] = plainCharacters.exec(this.#text) ?? [];
      read += plain;
      this.#at += plain.length;
      const sign = this.#text[this.#at];
      if (sign === '"') {
        this.#at += 1;
        return read.toWellFormed();
      }
      if (sign !== "\\") throw this.#unexpected("in string literal");
      this.#at += 1;
      read += this.#readEscape();
    }
  }

  #readEscape(): string {
    const sign = this.#text[this.#at] ?? "";
    const simple = escapes.get(sign);
    if (simple !== undefined) {
      this.#at += 1;
      return simple;
    }
    if (sign !== "u") throw this.#unexpected("in string escape code");
    this.#at += 1;
    hexadecimal.lastIndex = this.#at;
    const [digits = ""] = hexadecimal.exec(this.#text) ?? [];
    this.#at += digits.length;
    if (digits.length < 4) throw this.#unexpected("in \\u hexadecimal character escape");
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #readDigits(where: string): void {
    if (!isDigit(this.#text[this.#at])) throw this.#unexpected(where);
    while (isDigit(this.#text[this.#at])) this.#at += 1;
  }

  #readNumber(): GoNumber {
    const start = this.#at;
    if (this.#text[this.#at] === "-") this.#at += 1;
    if (this.#text[this.#at] === "0") this.#at += 1;
    else this.#readDigits("in numeric literal");
    if (this.#text[this.#at] === ".") {
      this.#at += 1;
      this.#readDigits("after decimal point in numeric literal");
    }
    if (this.#text[this.#at] === "e" || this.#text[this.#at] === "E") {
      this.#at += 1;
      if (this.#text[this.#at] === "+" || this.#text[this.#at] === "-") this.#at += 1;
      this.#readDigits("in exponent of numeric literal");
    }
    return { digits: this.#text.slice(start, this.#at) };
  }

  #readLiteral({ word, value }: Literal): GoJson {
    for (const letter of word) {
      if (this.#text[this.#at] !== letter) throw this.#unexpected(`in literal ${word} (expecting '${letter}')`);
      this.#at += 1;
    }
    return value;
  }
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
