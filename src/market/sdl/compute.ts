/** Compute profiles: what one replica of a service takes. */
import type { Attribute, UnitResources, Volume } from "../group-spec.ts";
import {
  at,
  compareBytes,
  entriesOf,
  fault,
  fieldText,
  isEmpty,
  itemsOf,
  mustKnow,
  parsedOf,
  type SdlField,
} from "./fields.ts";

export type Compute = Omit<UnitResources, "id" | "endpoints">;

const storageClasses = ["default", "beta1", "beta2", "beta3", "ram"];
const flags: Readonly<Record<string, string>> = {
  ...{ true: "true", on: "true", yes: "true" },
  ...{ false: "false", off: "false", no: "false" },
};

export function readCompute(profile: SdlField): Compute {
  const resources = at(profile, "resources");
  if (isEmpty(resources)) fault(resources, "is missing");
  const [cpu, memory] = [at(resources, "cpu"), at(resources, "memory")];
  return {
    cpu: { milli: parsedOf(at(cpu, "units"), parseCpu, 0n), attributes: readCpuAttributes(at(cpu, "attributes")) },
    memory: { bytes: parsedOf(at(memory, "size"), parseSize, 0n), attributes: [] },
    gpu: readGpu(at(resources, "gpu")),
    storage: readStorage(at(resources, "storage")),
  };
}

function readCpuAttributes(attributes: SdlField): Attribute[] {
  mustKnow(attributes, ["arch"]);
  return entriesOf(attributes).map(([key, value]) => ({ key, value: fieldText(value) }));
}

function readGpu(gpu: SdlField): Compute["gpu"] {
  if (isEmpty(gpu)) return { count: 0n, attributes: [] };
  mustKnow(gpu, ["units", "attributes"]);
  const count = parsedOf(at(gpu, "units"), parseGpuCount, 0n);
  const attributes = readGpuModels(at(gpu, "attributes"));
  if (count > 0n && attributes.length === 0) fault(at(gpu, "attributes"), "must name a vendor");
  return { count, attributes };
}

function readGpuModels(attributes: SdlField): Attribute[] {
  if (isEmpty(attributes)) return [];
  mustKnow(attributes, ["vendor"]);
  const vendor = at(attributes, "vendor");
  if (isEmpty(vendor)) fault(vendor, "is missing");
  // The network's tools take any other vendor for "any GPU of nvidia".
  mustKnow(vendor, ["nvidia"]);
  const models = itemsOf(at(vendor, "nvidia"))?.map(readGpuModel) ?? [];
  const keys = models.length > 0 ? models : ["*"];
  return keys.map((key) => ({ key: `vendor/nvidia/model/${key}`, value: "true" })).sort(byKey);
}

function readGpuModel(gpu: SdlField): string {
  const [model, ram, connector] = [at(gpu, "model"), at(gpu, "ram"), at(gpu, "interface")];
  const name = fieldText(model);
  if (name === "") fault(model, "is missing");
  const parts = [name];
  if (!isEmpty(ram)) parts.push("ram", parsedOf(ram, parseGpuMemory, ""));
  if (!isEmpty(connector)) {
    if (!["pcie", "sxm"].includes(fieldText(connector))) fault(connector, "must be pcie or sxm");
    parts.push("interface", fieldText(connector));
  }
  return parts.join("/");
}

function readStorage(storage: SdlField): Volume[] {
  if (isEmpty(storage)) return [];
  const volumes =
    storage.node?.kind === "map"
      ? [{ ...readVolume(storage), name: "default" }]
      : (itemsOf(storage) ?? []).map((volume) => readVolume(volume));
  const names = new Set<string>();
  for (const { name } of volumes) {
    if (names.has(name)) fault(storage, `two volumes are named ${name}`);
    names.add(name);
  }
  return inNetworkOrder(volumes);
}

function readVolume(volume: SdlField): Volume {
  const name = fieldText(at(volume, "name")) || "default";
  return {
    name,
    bytes: parsedOf(at(volume, "size"), parseSize, 0n),
    attributes: readVolumeAttributes(at(volume, "attributes")),
  };
}

function readVolumeAttributes(attributes: SdlField): Attribute[] {
  if (isEmpty(attributes)) return [];
  mustKnow(attributes, ["persistent", "class"]);
  const written = at(attributes, "persistent");
  // As it was written: "yes" becomes "true" only after the class was read.
  const persistent = isEmpty(written) ? "false" : fieldText(written);
  const named = at(attributes, "class");
  const given = fieldText(named);
  if (given === "ram" && persistent !== "false") fault(named, "ram cannot be persistent");
  if (given !== "" && given !== "ram" && persistent === "false") fault(named, "needs persistent: true");
  const storageClass = given === "" && persistent === "true" ? "default" : given;
  if (storageClass !== "" && !storageClasses.includes(storageClass)) {
    fault(named, `must be one of ${storageClasses.join(", ")}`);
  }
  const flag = flags[persistent];
  if (flag === undefined) fault(written, "must be true or false");
  const attribute = { key: "persistent", value: flag ?? "" };
  return storageClass === "" ? [attribute] : [{ key: "class", value: storageClass }, attribute];
}

/** The order of volumes is hashed. The network's comparison reverses equal ephemeral volumes, and so do we. */
function inNetworkOrder(volumes: readonly Volume[]): Volume[] {
  const sorted: Volume[] = [];
  for (const volume of volumes) {
    let place = sorted.length;
    for (; place > 0; place -= 1) {
      const before = sorted[place - 1];
      if (before && !comesBefore(volume, before)) break;
    }
    sorted.splice(place, 0, volume);
  }
  return sorted;
}

function comesBefore(one: Volume, other: Volume): boolean {
  if (one.bytes !== other.bytes) return one.bytes < other.bytes;
  const [mine, theirs] = [persistenceOf(one), persistenceOf(other)];
  if (mine === undefined && theirs !== undefined) return true;
  if (mine !== undefined && theirs === undefined) return false;
  if (mine !== "true") return true;
  return theirs === "true" && compareBytes(one.name, other.name) < 0;
}

export function persistenceOf({ attributes }: Volume): string | undefined {
  return attributes.find(({ key }) => key === "persistent")?.value;
}

function byKey(left: Attribute, right: Attribute): number {
  return compareBytes(left.key, right.key);
}

/** Amounts as an SDL writes them. The network's tools reckon in floats and cut off what is left; so do we, to the unit. */
const bytesOf: Readonly<Record<string, number>> = {
  "": 1,
  ...Object.fromEntries(["k", "M", "G", "T", "P", "E"].map((suffix, index) => [suffix, 1_000 ** (index + 1)])),
  ...Object.fromEntries(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index) => [suffix, 1_024 ** (index + 1)])),
};
const gibi = 2n ** 30n;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** "0.5" or "500m" as 500n. */
function parseCpu(text: string): bigint {
  const milli = /^(\d{1,10})m$/.exec(text)?.[1];
  const value = milli === undefined ? scaled(text, 1_000, "0.5 or 500m") : BigInt(milli);
  if (value >= 2n ** 32n) throw new Error(`${quoted(text)} is more than any machine has`);
  return value;
}

/** "512Mi", "0.5G" or "1048576". */
function parseSize(text: string): bigint {
  const [, digits = "", suffix = ""] = /^(.*?)(k|[MGTPE]|[KMGTPE]i)?$/s.exec(text) ?? [];
  const value = scaled(digits, bytesOf[suffix] ?? 1, "512Mi");
  if (value >= 2n ** 64n) throw new Error(`${quoted(text)} is more than any machine has`);
  return value;
}

/** Of a GPU, for an attribute's name: whole Gi. */
function parseGpuMemory(text: string): string {
  if (/[kMGTPE]$/.test(text)) throw new Error(`${quoted(text)} must be in Ki, Mi, Gi or Ti`);
  return `${parseSize(text) / gibi}Gi`;
}

function parseGpuCount(text: string): bigint {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`${quoted(text)} is not a whole number of GPUs`);
  return BigInt(text);
}

function scaled(text: string, factor: number, example: string): bigint {
  const value = number.test(text) ? Number(text) * factor : Number.NaN;
  if (!Number.isFinite(value)) throw new Error(`${quoted(text)} is not an amount, such as ${example}`);
  if (value < 0) throw new Error(`${quoted(text)} is negative`);
  return BigInt(Math.trunc(value));
}

/** Long ones are pastes or attacks. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
