/** Patterns of attribute names, as Go's path.Match reads them: `*` and `?` do not cross a slash, `[a-z]` and `[^a-z]` are classes. */

type Matcher = (character: string) => boolean;
/** A text stands for itself. */
type Token = Matcher | string | typeof star;

const star = Symbol("star");

/** Undefined where the pattern is malformed; the network takes such a one to match nothing. */
export function compileGlob(pattern: string): ((text: string) => boolean) | undefined {
  const tokens = readTokens(charactersOf(pattern));
  return tokens && ((text) => matches(tokens, charactersOf(text)));
}

/** Whether it can match anything but its own text. */
export function isPattern(text: string): boolean {
  return /[*?[\\]/.test(text);
}

export function globMatches(pattern: string, text: string): boolean {
  return compileGlob(pattern)?.(text) ?? false;
}

/** A text is its own list, unless it has characters that take two places in it. */
function charactersOf(text: string): ArrayLike<string> {
  return /[\ud800-\udfff]/.test(text) ? [...text] : text;
}

/** Only the last star needs to grow, as none crosses a slash: the work is at most the product of the lengths. */
function matches(tokens: readonly Token[], text: ArrayLike<string>): boolean {
  let token = 0;
  let at = 0;
  /** Behind the last star, and where what it has taken ends. */
  let retryToken = -1;
  let retryAt = 0;
  for (;;) {
    const wanted = tokens[token];
    const character = text[at];
    if (wanted === star) {
      token += 1;
      retryToken = token;
      retryAt = at;
    } else if (
      wanted !== undefined &&
      character !== undefined &&
      (wanted === character || accepts(wanted, character))
    ) {
      token += 1;
      at += 1;
    } else if (wanted === undefined && character === undefined) {
      return true;
    } else {
      const taken = text[retryAt];
      if (retryToken < 0 || taken === undefined || taken === "/") return false;
      retryAt += 1;
      token = retryToken;
      at = retryAt;
    }
  }
}

function accepts(wanted: Matcher | string, character: string): boolean {
  return typeof wanted === "function" && wanted(character);
}

function readTokens(pattern: ArrayLike<string>): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at];
    if (sign === "*") {
      // Two in a row match what one does, and would be tried each with each.
      if (tokens.at(-1) !== star) tokens.push(star);
    } else if (sign === "?") tokens.push((character) => character !== "/");
    else if (sign === "[") {
      const read = readClass(pattern, at + 1);
      if (!read) return undefined;
      tokens.push(read.matcher);
      at = read.end;
    } else {
      if (sign === "\\") at += 1;
      const literal = pattern[at];
      if (literal === undefined) return undefined;
      tokens.push(literal);
    }
  }
  return tokens;
}

/** From behind the bracket on; `end` is where the closing one stands. Unlike `?`, a class may match a slash. */
function readClass(pattern: ArrayLike<string>, start: number): { matcher: Matcher; end: number } | undefined {
  const negated = pattern[start] === "^";
  const ranges: [number, number][] = [];
  let at = negated ? start + 1 : start;
  const readBound = (): number | undefined => {
    const sign = pattern[at];
    if (sign === undefined || sign === "-" || sign === "]") return undefined;
    if (sign === "\\") at += 1;
    const bound = pattern[at]?.codePointAt(0);
    at += 1;
    return bound;
  };
  while (pattern[at] !== "]" || ranges.length === 0) {
    const low = readBound();
    if (low === undefined) return undefined;
    let high: number | undefined = low;
    if (pattern[at] === "-") {
      at += 1;
      high = readBound();
    }
    if (high === undefined) return undefined;
    ranges.push([low, high]);
  }
  const matcher: Matcher = (character) => {
    const code = character.codePointAt(0) ?? 0;
    return ranges.some(([low, high]) => low <= code && code <= high) !== negated;
  };
  return { matcher, end: at };
}
