/**
 * Reads a regular expression as the network's operator writes it (RE2), which is not what JavaScript reads: [[:alpha:]],
 * (?i) and \z mean something else or nothing there. What it cannot read it refuses, with the reason.
 */

/** A pattern as a tree. `takes` looks at one character, `holds` at a place between two of them. */
export type Pattern =
  | { readonly kind: "one"; readonly takes: Takes }
  | { readonly kind: "place"; readonly holds: Holds }
  | { readonly kind: "each"; readonly parts: readonly Pattern[] }
  | { readonly kind: "either"; readonly choices: readonly Pattern[] }
  | { readonly kind: "times"; readonly part: Pattern; readonly least: number; readonly most: number };

export type Takes = (char: string) => boolean;
export type Holds = (text: string, at: number) => boolean;

export class PatternFault extends Error {
  override readonly name = "PatternFault";
}

/** RE2's own bound. */
const mostTimes = 1_000;

const isWord: Takes = (char) => /^\w$/.test(char);
const atWordEdge: Holds = (text, at) => isWord(text.charAt(at - 1)) !== isWord(text.charAt(at));
const atStart: Holds = (_, at) => at === 0;
const atEnd: Holds = (text, at) => at === text.length;
const not =
  (test: Takes): Takes =>
  (char) =>
    !test(char);

const places: Readonly<Record<string, Holds>> = {
  A: atStart,
  z: atEnd,
  b: atWordEdge,
  B: (text, at) => !atWordEdge(text, at),
};

const families: Readonly<Record<string, Takes>> = {
  d: (char) => char >= "0" && char <= "9",
  w: isWord,
  s: (char) => /^[\t\n\f\r ]$/.test(char),
};

const controls: Readonly<Record<string, string>> = { a: "\x07", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

const posixFamilies: Readonly<Record<string, Takes>> = {
  alnum: (char) => /^[0-9A-Za-z]$/.test(char),
  alpha: (char) => /^[A-Za-z]$/.test(char),
  digit: (char) => /^[0-9]$/.test(char),
  lower: (char) => /^[a-z]$/.test(char),
  punct: (char) => /^[!-/:-@[-`{-~]$/.test(char),
  upper: (char) => /^[A-Z]$/.test(char),
  word: isWord,
  xdigit: (char) => /^[0-9A-Fa-f]$/.test(char),
};

export function parsePattern(source: string): Pattern {
  let at = 0;
  let foldsCase = false;

  function fault(reason: string): never {
    throw new PatternFault(reason);
  }

  function take(text: string): boolean {
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  }

  /** What the expression, which may stand only here, matches from here on. */
  function read(expression: RegExp): RegExpExecArray | undefined {
    const found = expression.exec(source.slice(at));
    if (found) at += found[0].length;
    return found ?? undefined;
  }

  function next(missing: string): string {
    const char = source.charAt(at);
    if (char === "") fault(missing);
    at += 1;
    return char;
  }

  function folded(test: Takes): Takes {
    return foldsCase ? (char) => test(char.toLowerCase()) || test(char.toUpperCase()) : test;
  }

  function either(): Pattern {
    const first = each();
    const choices = [first];
    while (take("|")) choices.push(each());
    return choices.length === 1 ? first : { kind: "either", choices };
  }

  function each(): Pattern {
    const parts: Pattern[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(repeated());
    return { kind: "each", parts };
  }

  function repeated(): Pattern {
    if (read(/^[*+?]/)) fault("there is nothing before the * + or ? to repeat");
    const part = atom();
    const times = repeat();
    if (!times) return part;
    // A lazy repeat finds the same names, only in another order.
    take("?");
    if (repeat()) fault("a repeat cannot be repeated");
    return { kind: "times", part, ...times };
  }

  function repeat(): { least: number; most: number } | undefined {
    if (take("*")) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (take("+")) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (take("?")) return { least: 0, most: 1 };
    // Braces that hold no numbers are braces.
    const braces = read(/^\{(\d+)(,?)(\d*)\}/);
    if (!braces) return undefined;
    const [, from = "", comma = "", to = ""] = braces;
    const least = Number(from);
    const most = to !== "" ? Number(to) : comma === "" ? least : Number.POSITIVE_INFINITY;
    if (least > most) fault(`${braces[0]} asks for more at least than at most`);
    if (least > mostTimes || (Number.isFinite(most) && most > mostTimes)) fault(`${braces[0]} is over ${mostTimes}`);
    return { least, most };
  }

  function atom(): Pattern {
    if (take("(")) return group();
    if (take("[")) return { kind: "one", takes: characterClass() };
    if (take(".")) return { kind: "one", takes: (char) => char !== "\n" };
    if (take("^")) return { kind: "place", holds: atStart };
    if (take("$")) return { kind: "place", holds: atEnd };
    const place = read(/^\\([AzbB])/);
    if (place) return { kind: "place", holds: places[place[1] ?? ""] ?? fault("unknown place") };
    const taken = character("the pattern ends too early");
    return { kind: "one", takes: folded(typeof taken === "string" ? (char) => char === taken : taken) };
  }

  /** (…), (?:…), (?P<name>…), (?i:…) or (?i), which holds until the group around it ends. */
  function group(): Pattern {
    const before = foldsCase;
    if (take("?")) {
      if (!read(/^P?<\w+>/)) {
        const flags = read(/^([imsU]*)(?:-([imsU]+))?([:)])/);
        if (!flags) fault("(? may be followed by : or flags or a name; looking ahead or behind is not read");
        const [, on = "", off = "", end] = flags ?? [];
        // The others are about lines, of which a name has one, and about what is found first.
        if (on.includes("i")) foldsCase = true;
        if (off.includes("i")) foldsCase = false;
        if (end === ")") return { kind: "each", parts: [] };
      }
    }
    const inner = either();
    if (!take(")")) fault("a ( is not closed");
    foldsCase = before;
    return inner;
  }

  function characterClass(): Takes {
    const negated = take("^");
    const tests: Takes[] = [];
    // A ] that comes first is a character like others.
    do tests.push(classMember());
    while (!take("]"));
    const any = folded((char) => tests.some((test) => test(char)));
    return negated ? not(any) : any;
  }

  function classMember(): Takes {
    const unclosed = "a [ is not closed";
    const named = read(/^\[:(\^?)(\w+):\]/);
    if (named) {
      const family = posixFamilies[named[2] ?? ""] ?? fault(`there is no family ${named[0]}`);
      return named[1] === "^" ? not(family) : family;
    }
    const from = character(unclosed);
    if (typeof from !== "string") return from;
    if (!/^-[^\]]/.test(source.slice(at, at + 2))) return (char) => char === from;
    at += 1;
    const to = character(unclosed);
    if (typeof to !== "string" || to < from) fault(`the range ${from}-${to} has no order`);
    return (char) => char !== "" && char >= from && char <= to;
  }

  /** One character that stands for itself, or the test for a family of them. */
  function character(missing: string): string | Takes {
    const char = next(missing);
    if (char !== "\\") return char;
    const escaped = next("a \\ stands at the end");
    const family = families[escaped.toLowerCase()];
    if (family) return escaped === escaped.toLowerCase() ? family : not(family);
    const code = escaped === "x" && (read(/^([0-9A-Fa-f]{2})/) ?? read(/^\{([0-9A-Fa-f]{1,4})\}/));
    if (code) return String.fromCharCode(Number.parseInt(code[1] ?? "", 16));
    if (/^\w$/.test(escaped)) return controls[escaped] ?? fault(`\\${escaped} is not read`);
    return escaped;
  }

  const pattern = either();
  if (at < source.length) fault("a ) has no ( before it");
  return pattern;
}
