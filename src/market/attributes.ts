/** Which attributes of a provider satisfy those that an order asks for. */
import { compileGlob, isPattern } from "./glob.ts";
import type { Attribute, GroupSpec, Requirements } from "./group-spec.ts";

/** Those that nothing satisfies: the key asked for is a pattern, the value must be the same. */
export function unsatisfied(asked: readonly Attribute[], had: readonly Attribute[]): Attribute[] {
  const isSatisfied = among(had);
  return asked.filter((attribute) => !isSatisfied(attribute));
}

/** Whether that would be none. */
export function allSatisfied(asked: readonly Attribute[], had: readonly Attribute[]): boolean {
  return asked.every(among(had));
}

/** Most keys are no patterns, and are found at once among those with the same value. */
function among(had: readonly Attribute[]): (asked: Attribute) => boolean {
  const keysByValue = new Map<string, Set<string>>();
  for (const { key, value } of had) {
    const keys = keysByValue.get(value) ?? new Set();
    keysByValue.set(value, keys.add(key));
  }
  return ({ key, value }) => {
    const keys = keysByValue.get(value);
    return keys !== undefined && (isPattern(key) ? matchesAny(key, keys) : keys.has(key));
  };
}

function matchesAny(pattern: string, keys: ReadonlySet<string>): boolean {
  const matches = compileGlob(pattern);
  if (!matches) return false;
  for (const key of keys) if (matches(key)) return true;
  return false;
}

export function showAttribute({ key, value }: Attribute): string {
  return `${key}=${value}`;
}

/** Whether what a provider publishes of its hardware covers the volumes and cards that a group asks for. */
interface MissingCapability {
  readonly unit: number;
  readonly what: "storage" | "gpu";
  readonly asked: readonly Attribute[];
}

/** A volume needs one published kind that has all of its attributes, a unit with cards one published card that it names. */
export function missingCapabilities({ units }: GroupSpec, own: readonly Attribute[]): MissingCapability[] {
  const kinds = storageKinds(own);
  const cards = publishedCards(own);
  const missing: MissingCapability[] = [];
  for (const { id, storage, gpu } of units) {
    for (const { attributes } of storage) {
      // A plain ephemeral volume has none, and anybody has that.
      if (attributes.length === 0 || kinds.some((kind) => allSatisfied(attributes, kind))) continue;
      missing.push({ unit: id, what: "storage", asked: attributes });
    }
    if (gpu.count === 0n || gpu.attributes.length === 0) continue;
    if (unsatisfied(gpu.attributes, cards).length === gpu.attributes.length)
      missing.push({ unit: id, what: "gpu", asked: gpu.attributes });
  }
  return missing;
}

/** "capabilities/storage/1/class" is the class of the first kind of volume. */
function storageKinds(own: readonly Attribute[]): Attribute[][] {
  const kinds = new Map<string, Attribute[]>();
  for (const { key, value } of own) {
    const [root, what = "", kind = "", name, ...more] = key.split("/");
    if (root !== "capabilities" || !what.startsWith("storage") || name === undefined || more.length > 0) continue;
    const attributes = kinds.get(kind) ?? [];
    attributes.push({ key: name, value });
    kinds.set(kind, attributes);
  }
  return [...kinds.values()];
}

/** "capabilities/gpu/vendor/nvidia/model/a100" is asked for as "vendor/nvidia/model/a100". */
function publishedCards(own: readonly Attribute[]): Attribute[] {
  return own.flatMap(({ key, value }) => {
    const [root, what = "", ...rest] = key.split("/");
    const isCard = root === "capabilities" && what.startsWith("gpu") && rest.length >= 2;
    return isCard ? [{ key: rest.join("/"), value }] : [];
  });
}

/** What each auditor has signed of us. */
export type AuditedAttributes = ReadonlyMap<string, readonly Attribute[]>;

interface Signatures {
  readonly signed: boolean;
  /** Of those who must all have signed, who has not. */
  readonly allOfMissing: readonly string[];
  /** Those of whom one must have signed, where none has. */
  readonly anyOfMissing: readonly string[];
}

/** An auditor counts who has signed everything that the group asks for; for one that asks for nothing, anything will do. */
export function signaturesFor({ attributes, allOf, anyOf }: Requirements, audited: AuditedAttributes): Signatures {
  const hasSigned = (auditor: string) => {
    const signed = audited.get(auditor);
    return signed !== undefined && allSatisfied(attributes, signed);
  };
  const allOfMissing = allOf.filter((auditor) => !hasSigned(auditor));
  const anyOfMissing = anyOf.some(hasSigned) ? [] : anyOf;
  return { signed: allOfMissing.length === 0 && anyOfMissing.length === 0, allOfMissing, anyOfMissing };
}

/** What is neither persistent nor of the class "ram" lies on the node's own disk. */
export function volumeKind({ attributes = [] }: { readonly attributes?: readonly Attribute[] }): {
  persistent: boolean;
  storageClass: string | undefined;
} {
  const value = (name: string) => attributes.find(({ key }) => key === name)?.value;
  return { persistent: value("persistent") === "true", storageClass: value("class") || undefined };
}
