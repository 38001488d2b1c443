/** YAML as a tree of texts: meaning depends on the field, and `image: 1.10` names version 1.10. */
import { isAlias, isMap, isScalar, isSeq, Lexer, type Node, parseAllDocuments, type YAMLMap } from "yaml";

/** Plain: written without quotes, so that it may be a number, a boolean or null. */
export type YamlNode =
  | { readonly kind: "text"; readonly text: string; readonly plain: boolean }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, YamlNode> }
  | { readonly kind: "list"; readonly items: readonly YamlNode[] };

/** Real ones have a few thousand characters. */
const longestText = 256 * 1024;
/** Some five to a line. What is made of many tokens takes the library seconds, and of strange ones minutes. */
const mostTokens = 30_000;

/** Each makes the lexer read the whole text again. */
const mostOutdented = 20;

/** Throws an Error with the line and the reason. */
export function readYaml(written: string): YamlNode {
  if (written.length > longestText)
    throw new Error(`it has ${written.length} characters; at most ${longestText} are read`);
  let text = written;
  for (let count = 1; ; count += 1) {
    const indented = indentQuoted(text);
    if (indented === undefined) break;
    if (count > mostOutdented) throw new Error(`more than ${mostOutdented} quoted texts go on without indentation`);
    text = indented;
  }
  // Repeated keys are found below: the library compares each with each.
  const documents = parseAllDocuments(text, { schema: "failsafe", uniqueKeys: false, prettyErrors: false });
  const [document, ...others] = "empty" in documents ? [] : documents;
  const fault = document?.errors[0];
  if (fault) {
    const line = text.slice(0, fault.pos[0]).split("\n").length;
    throw new Error(`line ${line}: ${/call stack/.test(fault.message) ? "it is nested too deeply" : fault.message}`);
  }
  if (!document?.contents) throw new Error("it is empty");
  if (others.some(({ contents }) => contents !== null)) throw new Error("it holds more than one document");
  return readNode(document.contents, new Map());
}

/** Go's YAML allows any indentation of continued quoted text; this library does not, so such lines get some more. Undefined without one. */
function indentQuoted(text: string): string | undefined {
  let tokens = 0;
  let pos = 0;
  let before = "";
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > mostTokens) throw new Error(`it has more than ${mostTokens} words and signs`);
    const quoted = /^['"]/.test(token) && before !== scalarMark ? endOfQuoted(text, pos) : -1;
    const indented = quoted > pos + token.length ? indentLines(text, pos, quoted) : undefined;
    if (indented !== undefined) return indented;
    // Marks of the lexer's own stand in no text.
    if (!lexerMarks.includes(token)) pos += token.length;
    before = token;
  }
  return undefined;
}

const scalarMark = "\u001f";
const lexerMarks: readonly string[] = [scalarMark, "\u0002", "\u0018"];

/** Behind the closing quote; -1 where there is none. */
function endOfQuoted(text: string, from: number): number {
  const quoted = text[from] === "'" ? /'(?:[^']|'')*'/y : /"(?:[^"\\]|\\.)*"/sy;
  quoted.lastIndex = from;
  return quoted.test(text) ? quoted.lastIndex : -1;
}

/** Undefined where a document ends within, which ends the quoted text in Go too, or where it would take too much room. */
function indentLines(text: string, from: number, to: number): string | undefined {
  const column = from - text.lastIndexOf("\n", from - 1) - 1;
  const lines = text.slice(from, to).split("\n");
  if (lines.some((line) => /^(---|\.\.\.)(\s|$)/.test(line)) || lines.length * column > longestText) return undefined;
  return text.slice(0, from) + lines.join(`\n${" ".repeat(column)}`) + text.slice(to);
}

function readNode(node: Node | null, anchors: Map<string, YamlNode>): YamlNode {
  if (isAlias(node)) {
    const named = anchors.get(node.source);
    if (!named) throw new Error(`*${node.source} stands before what it names`);
    return named;
  }
  const read = readContents(node, anchors);
  // What is named twice is the same node, not a copy: aliases of aliases take no room.
  if (node?.anchor !== undefined) anchors.set(node.anchor, read);
  return read;
}

function readContents(node: Node | null, anchors: Map<string, YamlNode>): YamlNode {
  if (isMap(node)) return { kind: "map", entries: readEntries(node, anchors) };
  if (isSeq(node)) return { kind: "list", items: node.items.map((item) => readNode(item as Node, anchors)) };
  if (isScalar(node)) return { kind: "text", text: String(node.value), plain: node.type === "PLAIN" && !node.tag };
  return { kind: "text", text: "", plain: true };
}

function readEntries(map: YAMLMap, anchors: Map<string, YamlNode>): Map<string, YamlNode> {
  const entries = new Map<string, YamlNode>();
  const merged: YamlNode[] = [];
  for (const { key, value } of map.items) {
    const name = readNode(key as Node, anchors);
    if (name.kind !== "text") throw new Error("a key must be a text");
    const read = readNode(value as Node | null, anchors);
    if (name.plain && name.text === "<<") {
      merged.push(...(read.kind === "list" ? read.items : [read]));
      continue;
    }
    if (entries.has(name.text)) throw new Error(`"${name.text}" stands twice in one place`);
    entries.set(name.text, read);
  }
  for (const source of merged) {
    if (source.kind !== "map") throw new Error("<< must name a map");
    for (const [name, value] of source.entries) if (!entries.has(name)) entries.set(name, value);
  }
  return entries;
}
