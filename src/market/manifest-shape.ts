/** The form of a manifest's JSON: which fields there are, of which types in Go, and which are left out when empty. */

export type Shape =
  | { readonly kind: "text"; readonly go: string }
  | { readonly kind: "whole"; readonly go: string; readonly least: number; readonly most: number }
  | { readonly kind: "flag"; readonly go: "bool" }
  /** A whole number of any size, as text. */
  | { readonly kind: "amount"; readonly go: "string" }
  | { readonly kind: "list"; readonly go: string; readonly of: Shape }
  | RecordShape;

export interface RecordShape {
  readonly kind: "record";
  readonly go: string;
  readonly fields: readonly Field[];
  /** By their names in any case. */
  readonly byName: ReadonlyMap<string, Field>;
}

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  /** It is left out where it is empty. */
  readonly omits: boolean;
  /** It may be null; every list may. */
  readonly nullable: boolean;
}

const text: Shape = { kind: "text", go: "string" };
const uint32: Shape = { kind: "whole", go: "uint32", least: 0, most: 2 ** 32 - 1 };
const flag: Shape = { kind: "flag", go: "bool" };
const amount: Shape = { kind: "amount", go: "string" };
const texts = list(text, "[]string");

const value = record("v1beta4.ResourceValue", { val: amount });
const attributes = omits(list(record("v1.Attribute", { key: omits(text), value: omits(text) }), "v1.Attributes"));
const kind: Shape = { kind: "whole", go: "v1beta4.Endpoint_Kind", least: -(2 ** 31), most: 2 ** 31 - 1 };
const resources = record("v1beta4.Resources", {
  id: uint32,
  cpu: pointer(omits(record("v1beta4.CPU", { units: value, attributes }))),
  memory: pointer(omits(record("v1beta4.Memory", { size: value, attributes }))),
  storage: omits(list(record("v1beta4.Storage", { name: text, size: value, attributes }), "v1beta4.Volumes")),
  gpu: pointer(omits(record("v1beta4.GPU", { units: value, attributes }))),
  endpoints: list(record("v1beta4.Endpoint", { kind: omits(kind), sequence_number: uint32 }), "v1beta4.Endpoints"),
});
const httpOptions = record("v2beta3.ServiceExposeHTTPOptions", {
  maxBodySize: uint32,
  readTimeout: uint32,
  sendTimeout: uint32,
  nextTries: uint32,
  nextTimeout: uint32,
  nextCases: omits(texts),
  proxyBufferSize: omits(uint32),
});
const expose = record("v2beta3.ServiceExpose", {
  port: uint32,
  externalPort: uint32,
  proto: { kind: "text", go: "v2beta3.ServiceProtocol" },
  service: text,
  global: flag,
  hosts: texts,
  httpOptions,
  ip: text,
  endpointSequenceNumber: uint32,
});
const credentials = record("v2beta3.ImageCredentials", { host: text, email: text, username: text, password: text });
const params = record("v2beta3.ServiceParams", {
  storage: list(
    record("v2beta3.StorageParams", { name: text, mount: text, readOnly: flag }),
    "[]v2beta3.StorageParams",
  ),
  credentials: pointer(omits(credentials)),
  permissions: pointer(omits(record("v2beta3.ServicePermissions", { read: omits(texts) }))),
  tee: pointer(omits(record("v2beta3.TEEParams", { type: text, attestation: flag }))),
});
const service = record("v2beta3.Service", {
  name: text,
  image: text,
  command: texts,
  args: texts,
  env: texts,
  resources,
  count: uint32,
  expose: list(expose, "v2beta3.ServiceExposes"),
  params: pointer(omits(params)),
  credentials: pointer(credentials),
});
const group = record("v2beta3.Group", { name: text, services: list(service, "v2beta3.Services") });

export const manifestShape = list(group, "v2beta3.Manifest");

function list(of: Shape, go: string): Shape {
  return { kind: "list", go, of };
}

/** A field before it has its name. */
type Part = Omit<Field, "name">;

function record(go: string, parts: Readonly<Record<string, Shape | Part>>): RecordShape {
  const fields = Object.entries(parts).map(([name, part]) => ({ name, ...asPart(part) }));
  return { kind: "record", go, fields, byName: new Map(fields.map((field) => [foldName(field.name), field])) };
}

function omits(part: Shape | Part): Part {
  return { ...asPart(part), omits: true };
}

function pointer(part: Shape | Part): Part {
  return { ...asPart(part), nullable: true };
}

function asPart(part: Shape | Part): Part {
  return "shape" in part ? part : { shape: part, omits: false, nullable: part.kind === "list" };
}

/** The same for names that Go takes for the same: case is nothing, and two signs are letters of ASCII in another case. */
export function foldName(name: string): string {
  return name
    .replaceAll("\u017f", "s")
    .replaceAll("\u212a", "k")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
