/**
 * A manifest as a stranger sends it, read as the network's own provider reads it: names in any case, unknown fields
 * dropped, missing ones empty, wrong types refused in Go's words. Its hash is that of what is left, written anew.
 */
import { createHash } from "node:crypto";
import { ProviderError } from "../runtime/errors.ts";
import { type GoJson, type GoObject, goQuote, isList, isNumber, kindOf, plainOf, readFirstValue } from "./go-json.ts";
import type { Attribute } from "./group-spec.ts";
import type { Manifest, ManifestExpose, ManifestService } from "./manifest.ts";
import { type Field, foldName, manifestShape, type RecordShape, type Shape } from "./manifest-shape.ts";
import { sortedJson } from "./sorted-json.ts";

export interface ReadManifest {
  readonly manifest: Manifest;
  /** What every service must have and this one has not, in the network's words. */
  readonly lacks: ReadonlyMap<ManifestService, string>;
  /** The hash that the chain knows it by, in hex. Throws AKP_MANIFEST_TOO_LARGE where it is that only as Go writes it. */
  readonly version: () => string;
  /** The same with the fields that we do not know: of a manifest that is newer than we are. Undefined where it can be read in two ways. */
  readonly rawVersion: () => string | undefined;
}

/** A manifest is nine levels deep; fields that we do not know may be deeper. One of three hundred services has 20,000 values. */
const bounds = { mostDepth: 100, mostValues: 50_000 };
/** Each part of a service takes some microseconds, also when nothing was given of it. */
const mostRecords = 10_000;
/** Go's amounts have at most 256 bits, in binary digits at the longest. */
const mostAmountChars = 300;
const mostAmountBits = 256;
/** Of a number that a stranger wrote, in one sentence. */
const shownDigits = 64;

/** Throws AKP_MANIFEST_TOO_LARGE or AKP_MANIFEST_UNREADABLE. */
export function readManifest(body: string | Uint8Array, mostBytes: number): ReadManifest {
  const bounded = <Text extends string | Uint8Array>(text: Text): Text => {
    if (Buffer.byteLength(text) > mostBytes) throw new ProviderError("AKP_MANIFEST_TOO_LARGE", { mostBytes });
    return text;
  };
  bounded(body);
  const json = parse(typeof body === "string" ? body : utf8.decode(body));
  const decoded = decodeManifest(json);
  const written = (write(manifestShape, decoded) ?? []) as readonly WrittenGroup[];
  const lacks = new Map<ManifestService, string>();
  const manifest = written.map(({ name, services }, group) => ({
    name,
    services: (services ?? []).map((service, index) => {
      const usable = usableService(service);
      const lack = lackOf(decoded?.[group]?.services?.[index]?.resources);
      if (lack !== undefined) lacks.set(usable, lack);
      return usable;
    }),
  }));
  return {
    manifest,
    lacks,
    // Some signs are longer as Go writes them, and the cluster keeps it so.
    version: () => hashOf(bounded(sortedJson(written))),
    rawVersion: () => (hasOneReading(json) ? hashOf(sortedJson(plainOf(json))) : undefined),
  };
}

/**
 * A hash of sorted names does not say which of two that we read as one came last, nor what a number was that is larger than
 * any: the same hash would stand for different workloads.
 */
function hasOneReading(json: GoJson): boolean {
  if (json === null || typeof json !== "object") return true;
  if (isList(json)) return json.every(hasOneReading);
  if (isNumber(json)) return Number.isFinite(Number(json.digits));
  const names = new Set(json.fields.map(([name]) => foldName(name)));
  return names.size === json.fields.length && json.fields.every(([, value]) => hasOneReading(value));
}

/** With every field, and null where a list or a part was not given. */
type Decoded = readonly { services: readonly { resources: DecodedResources }[] | null }[] | null;
type DecodedResources = Readonly<Record<"id" | "cpu" | "memory" | "gpu" | "storage" | "endpoints", unknown>>;

/** As Go writes it: what is empty is left out where its type says so. */
interface WrittenGroup {
  readonly name: string;
  readonly services: readonly WrittenService[] | null;
}

type WrittenService = Omit<ManifestService, "expose"> & { readonly expose: readonly ManifestExpose[] | null };

// Neither may a mark at the beginning be swallowed, nor a byte that is no text be an end.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

function parse(text: string): GoJson {
  try {
    return readFirstValue(text, bounds);
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw unreadable(thrown.message);
    throw thrown;
  }
}

function unreadable(reason: string): ProviderError {
  return new ProviderError("AKP_MANIFEST_UNREADABLE", { reason });
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function lackOf(resources: DecodedResources | undefined): string | undefined {
  if (!resources || resources.id === 0) return "resources ID must be > 0";
  if (resources.cpu === null) return "CPU must not be nil";
  if (resources.gpu === null) return "GPU must not be nil";
  if (resources.memory === null) return "memory must not be nil";
  if (resources.storage === null) return "storage must not be nil";
  if (resources.endpoints === null) return "endpoints must not be nil";
  return undefined;
}

function usableService({ expose, resources, ...service }: WrittenService): ManifestService {
  const { cpu, memory, gpu, storage } = resources;
  const parts = { cpu: named(cpu), memory: named(memory), gpu: named(gpu) };
  return {
    ...service,
    expose: expose ?? [],
    resources: { ...resources, ...parts, ...(storage && { storage: storage.map(named) }) },
  };
}

/** An attribute that is empty is written without its name or value. */
function named<Part extends { readonly attributes?: readonly Partial<Attribute>[] }>(part: Part): Part {
  if (!part?.attributes) return part;
  return { ...part, attributes: part.attributes.map(({ key = "", value = "" }) => ({ key, value })) };
}

/** Like Go's: the first thing of a wrong type is told at the end, what is wrong with an amount at once. */
function decodeManifest(json: GoJson): Decoded {
  const path: string[] = [];
  let inside: RecordShape | undefined;
  let firstFault: string | undefined;
  let records = 0;

  function mismatch(given: string, { go }: Pick<Shape, "go">): string {
    const place = inside ? `struct field ${nameOf(inside)}.${path.join(".")}` : "value";
    return `json: cannot unmarshal ${given} into Go ${place} of type ${go}`;
  }

  function decode(shape: Shape, json: GoJson): unknown {
    if (shape.kind === "amount") return decodeAmount(json, () => mismatch(kindOf(json), shape));
    if (shape.kind === "record") records += 1;
    if (records > mostRecords) throw unreadable(`it has more than ${mostRecords} parts`);
    if (json === null) return emptyOf(shape);
    if (shape.kind === "text" && typeof json === "string") return json;
    if (shape.kind === "flag" && typeof json === "boolean") return json;
    if (shape.kind === "list" && isList(json)) return json.map((item) => decode(shape.of, item));
    if (shape.kind === "record" && kindOf(json) === "object") return decodeRecord(shape, json as GoObject);
    let given = kindOf(json);
    if (shape.kind === "whole" && isNumber(json)) {
      const number = /^-?\d{1,10}$/.test(json.digits) ? Number(json.digits) : Number.NaN;
      if (number >= shape.least && number <= shape.most) return number;
      given = `number ${json.digits.slice(0, shownDigits)}`;
    }
    firstFault ??= mismatch(given, shape);
    return emptyOf(shape);
  }

  function decodeRecord(shape: RecordShape, { fields }: GoObject): unknown {
    const record = emptyOf(shape) as Record<string, unknown>;
    const outside = inside;
    for (const [given, value] of fields) {
      const field = shape.byName.get(foldName(given));
      if (!field) continue;
      if (value === null && field.shape.kind !== "amount") {
        // Go sets what may be nil, and leaves everything else as it is.
        if (field.nullable) record[field.name] = null;
        continue;
      }
      inside = shape;
      path.push(field.name);
      record[field.name] = decode(field.shape, value);
      path.pop();
      inside = outside;
    }
    return record;
  }

  const decoded = decode(manifestShape, json);
  if (firstFault !== undefined) throw unreadable(firstFault);
  return decoded as Decoded;
}

function decodeAmount(json: GoJson, mismatch: () => string): string {
  if (json !== null && typeof json !== "string") throw unreadable(mismatch());
  const text = json ?? "";
  const [, minus, octal, digits = ""] = amountPattern.exec(text) ?? [];
  if (text.length > mostAmountChars) throw unreadable("integer out of range");
  if (!amountPattern.test(text)) throw unreadable(`math/big: cannot unmarshal ${goQuote(text)} into a *big.Int`);
  const plain = digits.replaceAll("_", "");
  const value = BigInt(octal === undefined ? plain : `0o${octal.replaceAll("_", "") || "0"}`);
  if (value >= 2n ** BigInt(mostAmountBits)) throw unreadable(`integer out of range: ${text}`);
  return `${minus === "-" ? -value : value}`;
}

/** Numbers as Go's literals: a sign, a base, and underscores between digits. A zero in front means base eight. */
const amountPattern = /^([+-]?)(?:0[oO]?((?:_?[0-7])+)|(0|[1-9](?:_?\d)*|0[xX](?:_?[\da-fA-F])+|0[bB](?:_?[01])+))$/;

function emptyOf(shape: Shape): unknown {
  switch (shape.kind) {
    case "text":
      return "";
    case "whole":
      return 0;
    case "flag":
      return false;
    case "amount":
      return "0";
    case "list":
      return null;
    case "record": {
      const record: Record<string, unknown> = {};
      for (const { name, shape: part, nullable } of shape.fields) record[name] = nullable ? null : emptyOf(part);
      return record;
    }
  }
}

function nameOf({ go }: RecordShape): string {
  return go.slice(go.indexOf(".") + 1);
}

function write(shape: Shape, value: unknown): unknown {
  if (value === null) return null;
  if (shape.kind === "list") return (value as unknown[]).map((item) => write(shape.of, item));
  if (shape.kind !== "record") return value;
  const record = value as Readonly<Record<string, unknown>>;
  const written: Record<string, unknown> = {};
  for (const field of shape.fields) {
    const given = record[field.name];
    if (!(field.omits && isEmpty(field, given))) written[field.name] = write(field.shape, given);
  }
  return written;
}

function isEmpty({ shape }: Field, value: unknown): boolean {
  if (shape.kind === "record" || value === null) return value === null;
  return shape.kind === "list" ? (value as unknown[]).length === 0 : value === emptyOf(shape);
}
