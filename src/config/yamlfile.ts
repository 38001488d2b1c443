/** A YAML file that is one map, read so that every part of it still knows its line, and every number its digits. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Scalar,
  type YAMLParseError,
  type YAMLWarning,
} from "yaml";
import { ProviderError } from "../runtime/errors.ts";
import { limits } from "../runtime/limits.ts";

export interface YamlEntry {
  readonly name: string;
  /** Texts, and lists and maps of them; null where nothing was written. */
  readonly raw: unknown;
  readonly line: number;
  /** Where the name stands: "provider.yaml:12:1". */
  readonly where: string;
  /** Where the part at this path of `raw` stands, or else what it is missing from; with "" at its end, its name. */
  locate(path: readonly PropertyKey[]): string;
}

export interface YamlReading {
  readonly entries: readonly YamlEntry[];
  /** What is wrong with the file as such; then there are no entries. */
  readonly faults: readonly ProviderError[];
}

export function readYamlMap(path: string, text: string): YamlReading {
  const lines = new LineCounter();
  const faulty = (...faults: { offset: number; reason: string }[]): YamlReading => ({
    entries: [],
    faults: faults.map(({ offset, reason }) => {
      return new ProviderError("AKP_SETTINGS_FILE_MALFORMED", { path, ...placeAt(lines, offset), reason });
    }),
  });
  if (text.length > limits.settingsFileChars) {
    return faulty({ offset: 0, reason: `it is longer than ${limits.settingsFileChars} characters` });
  }
  const options = { lineCounter: lines, prettyErrors: false, schema: "core", strict: true, uniqueKeys: true } as const;
  const document = parseDocument(text, options);
  const faults = [...document.errors, ...document.warnings].slice(0, limits.settingsFileFaults);
  if (faults.length > 0) return faulty(...faults.map((fault) => ({ offset: fault.pos[0], reason: reasonOf(fault) })));
  try {
    return { entries: entriesOf(document, path, lines), faults: [] };
  } catch (thrown) {
    if (!(thrown instanceof Unreadable)) throw thrown;
    return faulty({ offset: thrown.offset, reason: thrown.message });
  }
}

function reasonOf({ code, message }: YAMLParseError | YAMLWarning): string {
  return code === "DUPLICATE_KEY" ? "the same name is given twice" : message;
}

/** YAML that is right as such, but that we do not read. */
class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly offset: number;

  constructor(node: unknown, reason: string) {
    super(reason);
    this.offset = offsetOf(node) ?? 0;
  }
}

function entriesOf(document: Document, path: string, lines: LineCounter): YamlEntry[] {
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return [];
  if (!isMap(contents))
    throw new Unreadable(contents, "settings are expected, each on a line like bidpricecpuscale: 0.004");
  const unfold = createUnfolding(document);
  return contents.items.map(({ key, value }) => {
    const keyOffset = offsetOf(key) ?? 0;
    const { raw, offsets } = unfold(value, offsetOf(value) ?? keyOffset);
    const at = (offset: number) => `${path}:${placeAt(lines, offset).line}:${placeAt(lines, offset).column}`;
    return {
      name: nameOf(key),
      raw,
      line: placeAt(lines, keyOffset).line,
      where: at(keyOffset),
      locate: (part) => at(closestOffset(offsets, part) ?? keyOffset),
    };
  });
}

/** Turns nodes into plain texts, lists and maps, and notes offsets: of a part under "/0/key", of its name under "/0/key/". */
function createUnfolding(document: Document) {
  let nodes = 0;

  function plainOf(node: unknown, at: string, depth: number, offsets: Map<string, number>): unknown {
    nodes += 1;
    if (nodes > limits.settingsFileNodes || depth > limits.settingsFileDepth) {
      throw new Unreadable(node, "it is nested or repeated beyond all reason");
    }
    if (isScalar(node)) return textOf(node);
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (!target) throw new Unreadable(node, `nothing in this file is called &${node.source}`);
      return plainOf(target, at, depth + 1, offsets);
    }
    const note = (path: string, place: unknown) => {
      const offset = offsetOf(place);
      if (offset !== undefined) offsets.set(path, offset);
    };
    const partOf = (name: string, value: unknown) => {
      note(`${at}/${name}`, value);
      return plainOf(value, `${at}/${name}`, depth + 1, offsets);
    };
    if (isSeq(node)) return node.items.map((item, index) => partOf(String(index), item));
    if (!isMap(node)) return null;
    const parts = node.items.map(({ key, value }) => {
      note(`${at}/${nameOf(key)}/`, key);
      return [nameOf(key), partOf(nameOf(key), value)] as const;
    });
    return Object.fromEntries(parts.filter(([, part]) => part !== null));
  }

  return (node: unknown, offset: number) => {
    const offsets = new Map([["", offset]]);
    return { raw: plainOf(node, "", 0, offsets), offsets };
  };
}

/** A number or a switch as it was written: 1.0 stays "1.0", and no float ever comes between. */
function textOf({ value, source }: Scalar): string | null {
  if (value === null) return null;
  return typeof value === "string" ? value : (source ?? String(value));
}

function nameOf(key: unknown): string {
  return (isScalar(key) ? textOf(key) : undefined) ?? "(no name)";
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

function closestOffset(offsets: ReadonlyMap<string, number>, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const part = path.slice(0, length);
    const offset = offsets.get(part.map((name) => `/${String(name)}`).join(""));
    if (offset !== undefined) return offset;
  }
  return undefined;
}

/** Counted from one, as editors do. */
function placeAt(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}
