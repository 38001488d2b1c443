/**
 * YAML as a tree of texts. What a text means (a number, a flag, nothing) depends on the field it stands in, and the
 * network's tools take it as it was written: `image: 1.10` names version 1.10.
 */
import { isAlias, isMap, isScalar, isSeq, Lexer, type Node, parseAllDocuments, type YAMLMap } from "yaml";

export type YamlNode = YamlText | YamlMap | YamlList;

interface YamlText {
  readonly kind: "text";
  readonly text: string;
  /** Written without quotes, so that it may be a number, a flag or null. */
  readonly plain: boolean;
}

interface YamlMap {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, YamlNode>;
}

interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlNode[];
}

/** Real ones have a few thousand characters. */
const longestText = 256 * 1024;
/** Some five to a line. What is made of many tokens takes the library seconds, and of strange ones minutes. */
const mostTokens = 30_000;

/** Throws an Error that says what is wrong where. */
export function readYaml(text: string): YamlNode {
  if (text.length > longestText) throw new Error(`it has ${text.length} characters; at most ${longestText} are read`);
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > mostTokens) throw new Error(`it has more than ${mostTokens} words and signs`);
  }
  // Keys that stand twice are looked for below: the library compares each with each.
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
