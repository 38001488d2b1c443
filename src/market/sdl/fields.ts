/** Reads fields of a tree of texts into values, and notes what is wrong with each instead of ending at the first. */
import { reasonOf } from "../../runtime/errors.ts";
import type { YamlNode } from "./yaml.ts";

/** A place in the tree, which may be empty. */
export interface SdlField {
  readonly path: string;
  readonly node: YamlNode | undefined;
  readonly notes: Notes;
}

/** Faults, and how much was read: aliases can make a short text endless. */
export interface Notes {
  readonly faults: string[];
  reads: number;
  chars: number;
}

/** A large deployment has some hundreds of fields. */
const mostReads = 50_000;
/** Of all strings together: four times the longest file. */
const mostChars = 1024 * 1024;
/** Faults reported at most: a longer list is not read. */
const mostFaults = 20;

export function rootField(node: YamlNode): SdlField {
  return { path: "", node, notes: { faults: [], reads: 0, chars: 0 } };
}

export function fault({ path, notes }: SdlField, reason: string): void {
  const text = path === "" ? reason : `${path}: ${reason}`;
  // One field may be read several times.
  if (notes.faults.length < mostFaults && !notes.faults.includes(text)) notes.faults.push(text);
}

/** Nothing, or null in any of its spellings. */
export function isEmpty({ node }: SdlField): boolean {
  return node === undefined || (node.kind === "text" && node.plain && /^(~|null|Null|NULL)?$/.test(node.text));
}

export function at(field: SdlField, name: string): SdlField {
  return child(field, name, namesOf(field)?.get(name));
}

/** Entries of a map by name, in the order of the names' bytes; none where it is empty. */
export function entriesOf(field: SdlField): [string, SdlField][] {
  const entries = [...(namesOf(field) ?? [])].map(([name, node]): [string, SdlField] => [
    name,
    child(field, name, node),
  ]);
  return entries.sort(([left], [right]) => compareBytes(left, right));
}

/** Undefined where there is no list. */
export function itemsOf(field: SdlField): SdlField[] | undefined {
  if (isEmpty(field)) return undefined;
  if (field.node?.kind === "list") return field.node.items.map((item, index) => child(field, `[${index}]`, item));
  fault(field, "must be a list");
  return undefined;
}

export function mustKnow(field: SdlField, known: readonly string[]): void {
  for (const name of namesOf(field)?.keys() ?? []) {
    if (!known.includes(name)) fault(child(field, name, undefined), `is not known here; known are ${known.join(", ")}`);
  }
}

/** As it was written; "" where it is empty. */
export function fieldText(field: SdlField): string {
  if (isEmpty(field) || field.node === undefined) return "";
  if (field.node.kind === "text") return counted(field.node.text, field.notes);
  fault(field, "must be a text");
  return "";
}

function counted(text: string, notes: Notes): string {
  notes.chars += text.length;
  if (notes.chars > mostChars)
    throw new Error(`it has more than ${mostChars} characters, aliases counted as what they name`);
  return text;
}

export function textsOf(field: SdlField): string[] | undefined {
  return itemsOf(field)?.map(fieldText);
}

/** 0 where it is empty. */
export function fieldInteger(field: SdlField, most = 2 ** 32 - 1): number {
  if (isEmpty(field)) return 0;
  const { node } = field;
  const value = node?.kind === "text" && node.plain ? goInteger(node.text) : Number.NaN;
  if (value <= most) return value;
  fault(field, `must be a whole number from 0 to ${most}, without quotes`);
  return 0;
}

/** As Go's YAML reads one: 010 is octal and 0x1F hexadecimal; what is no octal, as 080, is a decimal, and so is 8e1. _8 is a text. */
function goInteger(text: string): number {
  const plain = text.replace(/^\+/, "").replaceAll("_", "");
  if (plain.length > 20 || text.startsWith("_")) return Number.NaN;
  if (/^0[0-7]+$/.test(plain)) return Number.parseInt(plain, 8);
  const isNumber = /^(0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)$/.test(plain);
  const value = isNumber ? Number(plain) : Number.NaN;
  return Number.isInteger(value) ? value : Number.NaN;
}

/** False where it is empty. The words that YAML once had for it are taken too. */
export function flagOf(field: SdlField): boolean {
  if (isEmpty(field)) return false;
  const { node } = field;
  const text = node?.kind === "text" && node.plain ? node.text : "";
  if (/^(true|True|TRUE|y|Y|yes|on)$/.test(text)) return true;
  if (!/^(false|False|FALSE|n|N|no|off)$/.test(text)) fault(field, "must be true or false");
  return false;
}

/** The parsed text; an error is recorded, and the fallback returned. */
export function parsedOf<T>(field: SdlField, parse: (text: string) => T, fallback: T): T {
  try {
    return parse(fieldText(field));
  } catch (thrown) {
    fault(field, reasonOf(thrown));
    return fallback;
  }
}

/** As Go orders texts. */
export function compareBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function namesOf(field: SdlField): ReadonlyMap<string, YamlNode> | undefined {
  if (isEmpty(field)) return undefined;
  if (field.node?.kind === "map") return field.node.entries;
  fault(field, "must be a map");
  return undefined;
}

function child({ path, notes }: SdlField, name: string, node: YamlNode | undefined): SdlField {
  notes.reads += 1;
  if (notes.reads > mostReads)
    throw new Error(`it has more than ${mostReads} fields, aliases counted as what they name`);
  const joint = path === "" || name.startsWith("[") ? "" : ".";
  return { path: `${path}${joint}${name}`, node, notes };
}
