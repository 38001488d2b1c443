/** Reads the Manifest resource of a lease, whichever provider wrote it. */
import type { Address } from "../../market/address.ts";
import type { Attribute } from "../../market/group-spec.ts";
import type { LeaseId } from "../../market/ids.ts";
import type {
  ImageCredentials,
  ManifestExpose,
  ManifestGroup,
  ManifestService,
  ServiceParams,
} from "../../market/manifest.ts";
import { parseTime } from "../../runtime/clock.ts";
import { fieldsOf, listOf, recordsOf, textOf } from "../json-fields.ts";
import type { KubeObject } from "../kube.ts";
import { goProviderEntry } from "../owned-fields.ts";
import { leaseOfLabels, readLeaseId } from "./lease-labels.ts";
import { type ManifestNote, manifestAnnotations, snakeCase } from "./manifest-resource.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The manifest of a lease as the cluster has it. */
export interface RecordedManifest extends RecordedNote {
  readonly group: ManifestGroup;
}

export interface RecordedNote extends ManifestNote {
  readonly lease: LeaseId;
}

export function readManifestResource(object: KubeObject): RecordedManifest | undefined {
  const note = readManifestNote(object);
  if (!note) return undefined;
  const group = fieldsOf(fieldsOf(object["spec"])["group"]);
  return { ...note, group: { name: text(group["name"]), services: recordsOf(group["services"]).map(readService) } };
}

/** Without the group; undefined without a lease. Annotations are outdated where the Go provider wrote the spec since. */
export function readManifestNote({ metadata, ...object }: KubeObject): RecordedNote | undefined {
  const spec = fieldsOf(object["spec"]);
  const lease = leaseIn(spec["lease_id"]) ?? leaseOfLabels(metadata.labels);
  if (!lease) return undefined;
  const written = goProviderEntry(metadata);
  const isTheirs = written?.fieldsV1?.["f:spec"] !== undefined;
  const notes = (isTheirs ? undefined : metadata.annotations) ?? {};
  const version = notes[manifestAnnotations.version] ?? "";
  const notedAtMs = isTheirs ? endOfSecond(written.time) : timeOf(notes[manifestAnnotations.receivedAt]);
  const receivedAtMs = notedAtMs ?? timeOf(metadata.creationTimestamp) ?? 0;
  const withdrawnAtMs = timeOf(notes[manifestAnnotations.withdrawnAt]);
  return { lease, version, receivedAtMs, ...(withdrawnAtMs !== undefined && { withdrawnAtMs }) };
}

/** The lease id in a custom resource; without a provider in it, ours. */
export function leaseIn(value: unknown, ours?: Address): LeaseId | undefined {
  const { owner, dseq, gseq, oseq, provider = ours } = fieldsOf(value);
  return readLeaseId([owner, dseq, gseq, oseq, provider].map((part) => `${part ?? ""}`));
}

function readService(fields: Fields): ManifestService {
  const params = fields["params"];
  return {
    name: text(fields["name"]),
    image: text(fields["image"]),
    command: texts(fields["command"]),
    args: texts(fields["args"]),
    env: texts(fields["env"]),
    resources: readResources(fieldsOf(fields["resources"])),
    count: number(fields["count"]),
    expose: recordsOf(fields["expose"]).map(readExpose),
    ...(params !== undefined && params !== null && { params: readParams(fieldsOf(params)) }),
    credentials: readCredentials(fields["credentials"]),
  };
}

function readResources(fields: Fields): ManifestService["resources"] {
  const [cpu, gpu, memory] = [fieldsOf(fields["cpu"]), fieldsOf(fields["gpu"]), fieldsOf(fields["memory"])];
  const storage = recordsOf(fields["storage"]);
  return {
    id: number(fields["id"]),
    cpu: { units: amount(cpu["units"]), ...attributesOf(cpu) },
    memory: { size: amount(memory["size"]), ...attributesOf(memory) },
    ...(storage.length > 0 && {
      storage: storage.map((volume) => ({
        name: text(volume["name"]),
        size: amount(volume["size"]),
        ...attributesOf(volume),
      })),
    }),
    gpu: { units: amount(gpu["units"]), ...attributesOf(gpu) },
    // No object depends on them; the group on chain has them.
    endpoints: [],
  };
}

function readExpose(fields: Fields): ManifestExpose {
  const { next_cases, proxy_buffer_size, ...httpOptions } = fieldsOf(fields["http_options"]);
  const [nextCases, proxyBufferSize] = [texts(next_cases), number(proxy_buffer_size)];
  return {
    ...readLike({ port: 0, externalPort: 0, service: "", global: false, ip: "", endpointSequenceNumber: 0 }, fields),
    proto: fields["proto"] === "UDP" ? "UDP" : "TCP",
    hosts: texts(fields["hosts"]),
    httpOptions: {
      ...readLike({ maxBodySize: 0, readTimeout: 0, sendTimeout: 0, nextTries: 0, nextTimeout: 0 }, httpOptions),
      ...(nextCases && { nextCases }),
      ...(proxyBufferSize !== 0 && { proxyBufferSize }),
    },
  };
}

function readParams(fields: Fields): ServiceParams {
  const storage = recordsOf(fields["storage"]).map((each) => readLike({ name: "", mount: "", readOnly: false }, each));
  const read = texts(fieldsOf(fields["permissions"])["read"]);
  const tee = fieldsOf(fields["tee"]);
  return {
    storage: storage.length === 0 ? null : storage,
    ...(read && { permissions: { read } }),
    ...(tee["type"] !== undefined && { tee: readLike({ type: "", attestation: false }, tee) }),
  };
}

function readCredentials(value: unknown): ImageCredentials | null {
  if (value === undefined || value === null) return null;
  return readLike({ host: "", email: "", username: "", password: "" }, fieldsOf(value));
}

/** The fields of the defaults, in snake case or as they are; the default where one is missing or of another type. */
function readLike<T extends Readonly<Record<string, string | number | boolean>>>(defaults: T, fields: Fields) {
  const read = ([name, byDefault]: [string, unknown]) => {
    const value = fields[name] ?? fields[snakeCase(name)];
    return [name, typeof value === typeof byDefault ? value : byDefault];
  };
  return Object.fromEntries(Object.entries(defaults).map(read)) as Widened<T>;
}

type Widened<T> = {
  [K in keyof T]: T[K] extends string ? string : T[K] extends number ? number : boolean;
};

function attributesOf(fields: Fields): { attributes?: readonly Attribute[] } {
  const attributes = recordsOf(fields["attributes"]).map((each) => readLike({ key: "", value: "" }, each));
  return attributes.length > 0 ? { attributes } : {};
}

function text(value: unknown): string {
  return textOf(value) ?? "";
}

/** Null where there are none, as in a manifest. */
function texts(value: unknown): readonly string[] | null {
  const list = listOf(value).map(text);
  return list.length > 0 ? list : null;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function amount(value: unknown): { val: string } {
  return { val: `${value ?? 0}` };
}

function timeOf(value: string | undefined): number | undefined {
  const atMs = parseTime(value ?? "");
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** managedFields has whole seconds; our writes within that second are not newer. */
function endOfSecond(time: string | undefined): number | undefined {
  const atMs = timeOf(time);
  return atMs === undefined ? undefined : atMs + 999;
}
