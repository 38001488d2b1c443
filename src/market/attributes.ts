/** Which attributes of a provider satisfy those that an order requires. */
import { compileGlob, isPattern } from "./glob.ts";
import type { Attribute, GroupSpec, Requirements, Volume } from "./group-spec.ts";

/** A required key is a pattern; the value must be the same. */
export function unsatisfied(required: readonly Attribute[], had: readonly Attribute[]): Attribute[] {
  const isSatisfied = among(had);
  return required.filter((attribute) => !isSatisfied(attribute));
}

function allSatisfied(required: readonly Attribute[], had: readonly Attribute[]): boolean {
  return required.every(among(had));
}

/** Most keys are no patterns, and are looked up among those with the same value. */
function among(had: readonly Attribute[]): (required: Attribute) => boolean {
  const byValue = Map.groupBy(had, ({ value }) => value);
  const keysByValue = new Map(Array.from(byValue, ([value, same]) => [value, new Set(same.map(({ key }) => key))]));
  return ({ key, value }) => {
    const keys = keysByValue.get(value);
    return keys !== undefined && (isPattern(key) ? matchesAny(key, keys) : keys.has(key));
  };
}

function matchesAny(pattern: string, keys: ReadonlySet<string>): boolean {
  const matches = compileGlob(pattern);
  return matches !== undefined && keys.values().some(matches);
}

export function showAttribute({ key, value }: Attribute): string {
  return `${key}=${value}`;
}

/** A volume needs one published kind that has all of its attributes, a unit with GPUs one published GPU that it names. */
export function missingCapabilities({ units }: GroupSpec, own: readonly Attribute[]) {
  const kinds = storageKinds(own);
  const gpus = publishedGpus(own);
  return units.flatMap(({ id: unit, storage, gpu }) => {
    // A plain ephemeral volume has no attributes, and every provider has that.
    const isPublished = ({ attributes }: Volume) =>
      attributes.length === 0 || kinds.some((kind) => allSatisfied(attributes, kind));
    const volumes = storage.filter((volume) => !isPublished(volume));
    const isGpuMissing =
      gpu.count > 0n && gpu.attributes.length > 0 && unsatisfied(gpu.attributes, gpus).length === gpu.attributes.length;
    return [
      ...volumes.map(({ attributes }) => ({ unit, what: "storage" as const, wanted: attributes })),
      ...(isGpuMissing ? [{ unit, what: "gpu" as const, wanted: gpu.attributes }] : []),
    ];
  });
}

/** "capabilities/storage/1/class" is the class of the first kind of volume. */
function storageKinds(own: readonly Attribute[]): Attribute[][] {
  const read = own.flatMap(({ key, value }) => {
    const [root, what = "", kind = "", name, ...more] = key.split("/");
    const isKind = root === "capabilities" && what.startsWith("storage") && name !== undefined && more.length === 0;
    return isKind ? [{ kind, attribute: { key: name, value } }] : [];
  });
  const byKind = Map.groupBy(read, ({ kind }) => kind);
  return Array.from(byKind.values(), (each) => each.map(({ attribute }) => attribute));
}

/** "capabilities/gpu/vendor/nvidia/model/a100" is requested as "vendor/nvidia/model/a100". */
function publishedGpus(own: readonly Attribute[]): Attribute[] {
  return own.flatMap(({ key, value }) => {
    const [root, what = "", ...rest] = key.split("/");
    const isGpu = root === "capabilities" && what.startsWith("gpu") && rest.length >= 2;
    return isGpu ? [{ key: rest.join("/"), value }] : [];
  });
}

/** What each auditor has signed of us. */
export type AuditedAttributes = ReadonlyMap<string, readonly Attribute[]>;

/** An auditor counts if it has signed every attribute that the group requires. */
export function signaturesFor({ attributes, allOf, anyOf }: Requirements, audited: AuditedAttributes) {
  const hasSigned = (auditor: string) => {
    const signed = audited.get(auditor);
    return signed !== undefined && allSatisfied(attributes, signed);
  };
  const allOfMissing = allOf.filter((auditor) => !hasSigned(auditor));
  const anyOfMissing = anyOf.some(hasSigned) ? [] : anyOf;
  return { signed: allOfMissing.length === 0 && anyOfMissing.length === 0, allOfMissing, anyOfMissing };
}
