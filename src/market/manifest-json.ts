/** A manifest read as the Go provider reads it: names in any case, unknown fields dropped. The hash is of what remains. */
import { createHash } from "node:crypto";
import { ProviderError } from "../runtime/errors.ts";
import { type GoJson, isList, isNumber, plainOf, readFirstValue } from "./go-json.ts";
import {
  decodeRecords,
  foldName,
  goBool,
  goString,
  goStrings,
  goUint32,
  list,
  omits,
  pointer,
  record,
  resourcesShape as resources,
  writeRecords,
} from "./go-shape.ts";
import type { Attribute } from "./group-spec.ts";
import type { Manifest, ManifestExpose, ManifestService } from "./manifest.ts";
import { goJson, sortedJson } from "./sorted-json.ts";

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
/** Throws AKP_MANIFEST_TOO_LARGE or AKP_MANIFEST_UNREADABLE. */
export function readManifest(body: string | Uint8Array, mostBytes: number): ReadManifest {
  const bounded = <Text extends string | Uint8Array>(text: Text): Text => {
    if (Buffer.byteLength(text) > mostBytes) throw new ProviderError("AKP_MANIFEST_TOO_LARGE", { mostBytes });
    return text;
  };
  bounded(body);
  const { json, decoded } = decode(typeof body === "string" ? body : utf8.decode(body));
  const written = (writeRecords(manifestShape, decoded) ?? []) as readonly WrittenGroup[];
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
    // Some characters are longer in Go's form, which the cluster keeps.
    version: () => hashOf(bounded(sortedJson(written))),
    rawVersion: () => (hasOneReading(json) ? hashOf(sortedJson(plainOf(json))) : undefined),
  };
}

/** As the Go provider shows one: with the names in the order of its types. */
export function manifestJson(manifest: Manifest): string {
  return goJson(writeRecords(manifestShape, manifest));
}

/** The hash does not cover repeated names or numbers out of range: one hash would stand for different workloads. */
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

function decode(text: string): { json: GoJson; decoded: Decoded } {
  try {
    const json = readFirstValue(text, bounds);
    return { json, decoded: decodeRecords(manifestShape, json) as Decoded };
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    throw new ProviderError("AKP_MANIFEST_UNREADABLE", { reason: thrown.message });
  }
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

/** The form of a manifest's JSON. */
const httpOptions = record("v2beta3.ServiceExposeHTTPOptions", {
  maxBodySize: goUint32,
  readTimeout: goUint32,
  sendTimeout: goUint32,
  nextTries: goUint32,
  nextTimeout: goUint32,
  nextCases: omits(goStrings),
  proxyBufferSize: omits(goUint32),
});
const expose = record("v2beta3.ServiceExpose", {
  port: goUint32,
  externalPort: goUint32,
  proto: { kind: "string", go: "v2beta3.ServiceProtocol" },
  service: goString,
  global: goBool,
  hosts: goStrings,
  httpOptions,
  ip: goString,
  endpointSequenceNumber: goUint32,
});
const credentials = record("v2beta3.ImageCredentials", {
  host: goString,
  email: goString,
  username: goString,
  password: goString,
});
const params = record("v2beta3.ServiceParams", {
  storage: list(
    record("v2beta3.StorageParams", { name: goString, mount: goString, readOnly: goBool }),
    "[]v2beta3.StorageParams",
  ),
  credentials: pointer(omits(credentials)),
  permissions: pointer(omits(record("v2beta3.ServicePermissions", { read: omits(goStrings) }))),
  tee: pointer(omits(record("v2beta3.TEEParams", { type: goString, attestation: goBool }))),
});
const service = record("v2beta3.Service", {
  name: goString,
  image: goString,
  command: goStrings,
  args: goStrings,
  env: goStrings,
  resources,
  count: goUint32,
  expose: list(expose, "v2beta3.ServiceExposes"),
  params: pointer(omits(params)),
  credentials: pointer(credentials),
});
const group = record("v2beta3.Group", { name: goString, services: list(service, "v2beta3.Services") });

const manifestShape = list(group, "v2beta3.Manifest");
