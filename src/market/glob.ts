/** Patterns of attribute names, as Go's path.Match reads them: `*` and `?` do not cross a slash, `[a-z]` and `[^a-z]` are classes. */

const char = String.raw`(?:\\[^]|[^-\\\]])`;
const range = `${char}(?:-${char})?`;
const tokens = new RegExp(String.raw`\*+|\?|\[(?:\^|(?!\^))(?:${range})+\]|\\[^]|[^\\*?[]`, "guy");
/** Between the sources of two parts; no source contains it. */
const star = "*";

/** Undefined where the pattern is malformed; the network takes such a one to match nothing. */
export function compileGlob(pattern: string): ((text: string) => boolean) | undefined {
  const read = pattern.match(tokens) ?? [];
  if (read.join("") !== pattern) return undefined;
  const [first = "", ...afterStars] = read.map(sourceOf).join("").split(star);
  // No star crosses a slash, so the first match of what follows one is final: atomic groups keep the work linear.
  const source = afterStars.map((part, index) =>
    index < afterStars.length - 1 ? `(?=([^/]*?${part}))\\${index + 1}` : `[^/]*?${part}`,
  );
  const whole = new RegExp(`^${first}${source.join("")}$`, "u");
  return (text) => whole.test(text);
}

/** Whether it can match anything but its own text. */
export function isPattern(text: string): boolean {
  return /[*?[\\]/.test(text);
}

export function globMatches(pattern: string, text: string): boolean {
  return compileGlob(pattern)?.(text) ?? false;
}

function sourceOf(token: string): string {
  if (token.startsWith(star)) return star;
  if (token === "?") return "[^/]";
  if (!token.startsWith("[")) return `\\u{${codeOf(token).toString(16)}}`;
  const isNegated = token[1] === "^";
  const ranges = token.slice(isNegated ? 2 : 1, -1).match(new RegExp(range, "gu")) ?? [];
  return `[${isNegated ? "^" : ""}${ranges.map(rangeSource).join("")}]`;
}

/** One that ends before it begins matches nothing, where a regular expression would be rejected. */
function rangeSource(range: string): string {
  const [low = 0, high = low] = (range.match(new RegExp(char, "gu")) ?? []).map(codeOf);
  return low > high ? "" : `\\u{${low.toString(16)}}-\\u{${high.toString(16)}}`;
}

/** Of a character, perhaps behind a backslash. */
function codeOf(text: string): number {
  return text.codePointAt(text.length > 1 && text.startsWith("\\") ? 1 : 0) ?? 0;
}
