/** JSON.parse for texts so large that the event loop would stand still: a piece at a time, with the same result. */

/** Yields after about every `sliceChars` characters; what is no JSON is a SyntaxError. */
export function* slicedJson(text: string, sliceChars: number): Generator<void, unknown> {
  let at = 0;
  let depth = 0;
  let breathAt = sliceChars;

  function* value(): Generator<void, unknown> {
    at = pastSpace(text, at);
    const end = endOfValue(text, at, sliceChars);
    if (end === undefined)
      return text[at] === "{" ? Object.fromEntries(yield* members(entry, "}")) : yield* members(value, "]");
    const small: unknown = JSON.parse(text.slice(at, end));
    at = end;
    if (at > breathAt) {
      breathAt = at + sliceChars;
      yield;
    }
    return small;
  }

  function* entry(): Generator<void, [string, unknown]> {
    at = pastSpace(text, at);
    if (text[at] !== '"') throw strange(at);
    const end = endOfString(text, at);
    const key = JSON.parse(text.slice(at, end)) as string;
    at = pastSpace(text, end);
    if (text[at] !== ":") throw strange(at);
    at += 1;
    return [key, yield* value()];
  }

  function* members<T>(member: () => Generator<void, T>, close: string): Generator<void, T[]> {
    const found: T[] = [];
    depth += 1;
    if (depth > deepest) throw strange(at);
    // It may be longer than a slice and hold nothing but space.
    at = pastSpace(text, at + 1);
    while (text[at] !== close) {
      found.push(yield* member());
      at = pastSpace(text, at);
      if (text[at] === close) break;
      if (text[at] !== ",") throw strange(at);
      at = pastSpace(text, at + 1);
      if (text[at] === close) throw strange(at);
    }
    at += 1;
    depth -= 1;
    return found;
  }

  const whole = yield* value();
  at = pastSpace(text, at);
  if (at < text.length) throw strange(at);
  return whole;
}

/** Of what is longer than a slice: each level is looked through once more, and no answer of a node has half as many. */
const deepest = 16;

function strange(at: number): SyntaxError {
  return new SyntaxError(`unexpected text at position ${at}`);
}

const [space, tab, newLine, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];
const [quote, backslash] = [0x22, 0x5c];
const [openList, closeList, openObject, closeObject, comma] = [0x5b, 0x5d, 0x7b, 0x7d, 0x2c];

function isSpace(char: number): boolean {
  return char === space || char === newLine || char === carriageReturn || char === tab;
}

function pastSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Undefined for a list or an object that is longer than this. Whether it is sound is for the parser to say. */
function endOfValue(text: string, from: number, mostChars: number): number | undefined {
  const first = text.charCodeAt(from);
  if (first === quote) return endOfString(text, from);
  if (first !== openList && first !== openObject) return endOfWord(text, from);
  let depth = 0;
  for (let at = from; at < text.length && at - from <= mostChars; at += 1) {
    const char = text.charCodeAt(at);
    if (char === quote) at = endOfString(text, at) - 1;
    else if (char === openList || char === openObject) depth += 1;
    else if (char === closeList || char === closeObject) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

function endOfWord(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === comma || char === closeList || char === closeObject || isSpace(char)) break;
  }
  return at;
}

function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (text.charCodeAt(first - 1) === backslash) first -= 1;
    if ((at - first) % 2 === 0) return at + 1;
  }
  throw strange(from);
}
