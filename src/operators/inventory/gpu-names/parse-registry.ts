/** Parses a registry in the network's form. It is maintained by hand, so a bad entry costs only itself. */
import { parseBytes } from "../../../market/quantity.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { plainName } from "../discovery/tree.ts";
import type { MarketName } from "../inventory.ts";
import type { Registry, RegistryVendor } from "./registry.ts";

/** Faults of a registry that are told; they are made by hand, one at a time. */
export const registryProblems = 20;

const id = /^[0-9a-f]{4}$/;
/** All of them become parts of a node label, which takes these characters and not more of them. */
const word = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** Throws AKP_GPU_REGISTRY_MALFORMED when nothing in it can be used. */
export function parseRegistry(text: string, from = "the text"): Registry {
  const problems: string[] = [];
  const vendors = new Map<string, RegistryVendor>();
  for (const [key, value] of Object.entries(parseJson(text, from))) {
    attempt(`vendor ${key}`, problems, () => {
      vendors.set(newId(key, vendors), readVendor(key, value, problems));
    });
  }
  if (![...vendors.values()].some(({ devices }) => devices.size > 0)) {
    throw malformed(from, ["it names no card", ...problems.slice(0, 1)].join("; "));
  }
  return { vendors, problems: bounded(problems) };
}

function parseJson(text: string, from: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw malformed(from, reasonOf(thrown));
  }
  if (!isRecord(value)) throw malformed(from, "it is not an object of vendors");
  return value;
}

function readVendor(vendorId: string, value: unknown, problems: string[]): RegistryVendor {
  if (!isRecord(value)) throw new TypeError("it is not an object");
  const name = readWord(value, "name");
  if (!isRecord(value["devices"])) throw new TypeError("its devices are not an object");
  const devices = new Map<string, MarketName>();
  for (const [key, device] of Object.entries(value["devices"])) {
    attempt(`device ${vendorId}:${key}`, problems, () => {
      devices.set(newId(key, devices), readDevice(device));
    });
  }
  return { name, devices };
}

function readDevice(value: unknown): MarketName {
  if (!isRecord(value)) throw new TypeError("it is not an object");
  const memorySize = readMemorySize(value["memory_size"]);
  return {
    name: readWord(value, "name"),
    interface: readWord(value, "interface"),
    ...(memorySize === undefined ? {} : { memorySize }),
  };
}

function readMemorySize(value: unknown): string | undefined {
  // GPUs are named whose memory nobody has looked up yet.
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string" || !word.test(value)) throw new TypeError("its memory_size is not a text like 80Gi");
  parseBytes(value);
  return value;
}

function readWord(entry: Record<string, unknown>, key: string): string {
  const value = entry[key];
  if (typeof value === "string" && word.test(value)) return value;
  throw new TypeError(`its ${key} is not a word of letters, digits, dots and dashes`);
}

function newId(key: string, taken: ReadonlyMap<string, unknown>): string {
  const lower = key.toLowerCase();
  if (!id.test(lower)) throw new TypeError("its id is not four hex digits");
  if (taken.has(lower)) throw new TypeError("it is there twice");
  return lower;
}

/** An entry's faults are told, and end with it. */
function attempt(what: string, problems: string[], read: () => void): void {
  try {
    read();
  } catch (thrown) {
    if (!(thrown instanceof TypeError || thrown instanceof ProviderError)) throw thrown;
    problems.push(`${plainName(what)}: ${thrown.message}`);
  }
}

function bounded(problems: readonly string[]): string[] {
  const more = problems.length - registryProblems;
  return more > 0 ? [...problems.slice(0, registryProblems), `and ${more} more`] : [...problems];
}

function malformed(from: string, reason: string): ProviderError {
  return new ProviderError("AKP_GPU_REGISTRY_MALFORMED", { from, reason });
}
