/** Parses a registry in the network's form. It is maintained by hand, so an invalid entry is left out alone. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseBytes } from "../../../market/quantity.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { plainName } from "../discovery/tree.ts";
import type { MarketName } from "../inventory.ts";

interface RegistryVendor {
  readonly name: string;
  /** By device id, four lower-case hex digits. */
  readonly devices: ReadonlyMap<string, MarketName>;
}

export interface Registry {
  readonly vendors: ReadonlyMap<string, RegistryVendor>;
  /** Why entries were left out. */
  readonly problems: readonly string[];
}

/** Most problems that are reported. */
export const registryProblems = 20;

/** What a node label takes. */
const word = z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, "letters, digits, dots and dashes");
const memorySize = word.refine(isBytes, "a size like 80Gi").or(z.literal("")).nullish();

const deviceShape = z
  .object({ name: word, interface: word, memory_size: memorySize })
  .transform(({ name, interface: kind, memory_size }): MarketName => {
    return { name, interface: kind, ...(memory_size && { memorySize: memory_size }) };
  });

const vendorShape = z.object({ name: word, devices: z.record(z.string(), z.unknown()) });

function isBytes(text: string): boolean {
  try {
    return parseBytes(text) >= 0n;
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return false;
  }
}

/** Throws AKP_GPU_REGISTRY_MALFORMED when it has no valid device. */
export function parseRegistry(text: string, from = "the text"): Registry {
  const problems: string[] = [];
  const entries = readEntries("vendor ", parseJson(text, from), vendorShape, problems);
  const vendors = Array.from(entries, ([id, { name, devices }]) => {
    return [id, { name, devices: readEntries(`device ${id}:`, devices, deviceShape, problems) }] as const;
  });
  if (vendors.every(([, { devices }]) => devices.size === 0))
    throw malformed(from, ["it names no GPU", ...problems.slice(0, 1)].join("; "));
  const more = problems.length - registryProblems;
  const reported = more > 0 ? [...problems.slice(0, registryProblems), `and ${more} more`] : problems;
  return { vendors: new Map(vendors), problems: reported };
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

function readEntries<T>(what: string, entries: Record<string, unknown>, shape: z.ZodType<T>, problems: string[]) {
  const found = new Map<string, T>();
  for (const [key, value] of Object.entries(entries)) {
    const id = key.toLowerCase();
    const { data, error } = shape.safeParse(value);
    const [issue] = error?.issues ?? [];
    const fault = issue && `${["its", ...issue.path].join(" ")} is invalid: ${issue.message}`;
    const problem = /^[0-9a-f]{4}$/.test(id) ? fault : "its id is not four hex digits";
    if (problem !== undefined || found.has(id)) problems.push(`${plainName(what + key)}: ${problem ?? "duplicate id"}`);
    else found.set(id, data as T);
  }
  return found;
}

function malformed(from: string, reason: string): ProviderError {
  return new ProviderError("AKP_GPU_REGISTRY_MALFORMED", { from, reason });
}

export const builtInRegistry = parseRegistry(readFileSync(new URL("gpus.json", import.meta.url), "utf8"), "gpus.json");
