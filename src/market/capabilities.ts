/** Whether what a provider publishes of its hardware covers the volumes and cards that a group asks for. */
import { allSatisfied, unsatisfied } from "./attributes.ts";
import type { Attribute, GroupSpec } from "./group-spec.ts";

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
