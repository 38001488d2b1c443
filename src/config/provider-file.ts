/** Settings from provider.yaml, read so that every part of it still knows its line, and every number its digits. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
} from "yaml";
import { ProviderError } from "../runtime/errors.ts";
import { settingsFileChars, settingsFileFaults } from "../runtime/limits.ts";
import { type Findings, type Given, isSameName, unknownSetting } from "./problem.ts";
import { settingsByFlag, settingsByKey, variableOf } from "./table.ts";

/** An attribute is four nodes, and nobody publishes a thousand: more means that aliases multiply. */
const settingsFileNodes = 10_000;
/** The deepest thing in it is a text in an attribute in a list; aliases may add a few. */
const settingsFileDepth = 16;

/** The chart writes it for the chain's command line; but the owner of a provider is the account of its key. */
const ignoredKey = "owner";

/** What the file gives, by key. */
export function readProviderFile(path: string, text: string, { problems, warnings }: Findings): Map<string, Given> {
  const lines = new LineCounter();
  const given = new Map<string, Given>();
  const at = (offset: number) => `${path}:${placeAt(lines, offset).line}:${placeAt(lines, offset).column}`;
  const { document, entries, faults } = readEntries(text, lines);
  for (const { offset, reason } of faults) {
    problems.push(new ProviderError("AKP_SETTINGS_FILE_MALFORMED", { path, ...placeAt(lines, offset), reason }));
  }
  for (const { pair, raw } of entries) {
    const name = nameOf(pair.key);
    const offset = offsetOf(pair.key);
    if (name === ignoredKey) {
      warnings.push(`${at(offset)}: owner has no effect: the provider's owner is the account of its key.`);
    } else if (!settingsByKey.has(name)) {
      problems.push(unknownKey(at(offset), name));
    } else if (raw !== null) {
      // "host:" without a value is as good as no host.
      const source = `${path}:${placeAt(lines, offset).line}`;
      given.set(name, { raw, source, name, locate: (part) => at(offsetOfPart(document, pair, part)) });
    }
  }
  return given;
}

/** Somebody who writes a flag's name into the file should hear where it belongs. */
function unknownKey(where: string, name: string): ProviderError {
  const setting = [...settingsByFlag.values()].find(({ flag }) => isSameName(flag, name));
  if (!setting || (setting.type === "live" && setting.key)) return unknownSetting(where, name, settingsByKey.keys());
  const hint = `It is not a setting of this file: give it as --${setting.flag} or AP_${variableOf(setting.flag)}.`;
  return new ProviderError("AKP_SETTING_UNKNOWN", { where, name, hint });
}

interface Entries {
  readonly document: Document;
  /** `raw` are texts, and lists and maps of them; null where nothing was written. */
  readonly entries: readonly { readonly pair: Pair; readonly raw: unknown }[];
  /** What is wrong with the file as such; then there are no entries. */
  readonly faults: readonly { readonly offset: number; readonly reason: string }[];
}

function readEntries(text: string, lines: LineCounter): Entries {
  const isTooLong = text.length > settingsFileChars;
  const options = { lineCounter: lines, prettyErrors: false, schema: "core", strict: true, uniqueKeys: true } as const;
  const document = parseDocument(isTooLong ? "" : text, options);
  const faulty = (...faults: Entries["faults"]) => ({ document, entries: [], faults });
  if (isTooLong) return faulty({ offset: 0, reason: `it is longer than ${settingsFileChars} characters` });
  const faults = [...document.errors, ...document.warnings].slice(0, settingsFileFaults);
  if (faults.length > 0) {
    const told = { DUPLICATE_KEY: "the same name is given twice" } as Readonly<Record<string, string>>;
    return faulty(...faults.map(({ pos, code, message }) => ({ offset: pos[0], reason: told[code] ?? message })));
  }
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return faulty();
  try {
    if (!isMap(contents)) {
      throw new Unreadable(contents, "settings are expected, each on a line like bidpricecpuscale: 0.004");
    }
    const plainOf = createPlainOf(document);
    return { document, entries: contents.items.map((pair) => ({ pair, raw: plainOf(pair.value, 0) })), faults: [] };
  } catch (thrown) {
    if (!(thrown instanceof Unreadable)) throw thrown;
    return faulty({ offset: thrown.offset, reason: thrown.message });
  }
}

/** YAML that is right as such, but that we do not read. */
class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly offset: number;

  constructor(node: unknown, reason: string) {
    super(reason);
    this.offset = offsetOf(node);
  }
}

/** Turns nodes into plain texts, lists and maps; aliases are followed, but neither in circles nor without end. */
function createPlainOf(document: Document): (node: unknown, depth: number) => unknown {
  let nodes = 0;
  return function plainOf(node, depth): unknown {
    nodes += 1;
    if (nodes > settingsFileNodes || depth > settingsFileDepth) {
      throw new Unreadable(node, "it is nested or repeated beyond all reason");
    }
    if (isScalar(node)) return textOf(node);
    if (isSeq(node)) return node.items.map((item) => plainOf(item, depth + 1));
    if (isMap(node)) {
      const parts = node.items.map(({ key, value }) => [nameOf(key), plainOf(value, depth + 1)] as const);
      return Object.fromEntries(parts.filter(([, part]) => part !== null));
    }
    if (!isAlias(node)) return null;
    const target = node.resolve(document);
    if (!target) throw new Unreadable(node, `nothing in this file is called &${node.source}`);
    return plainOf(target, depth + 1);
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

function offsetOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}

/** Where the part at this path stands, or else what it is missing from; with "" at its end, its name. */
function offsetOfPart(document: Document, entry: Pair, path: readonly PropertyKey[]): number {
  let { key, value } = entry;
  for (const name of path) {
    if (name === "") return offsetOf(key);
    const holder = isAlias(value) ? value.resolve(document) : value;
    const pair = isMap(holder) ? holder.items.find((each) => nameOf(each.key) === String(name)) : undefined;
    const item = isSeq(holder) ? holder.items[Number(name)] : undefined;
    if (!pair && !isNode(item)) break;
    key = pair?.key ?? key;
    value = pair ? (pair.value ?? key) : item;
  }
  return offsetOf(value ?? key);
}

/** Counted from one, as editors do. */
function placeAt(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}
