/** Reads what a lease was told to run out of its custom resource, whichever provider wrote it. */
import type { Address } from "../../market/address.ts";
import type { Attribute } from "../../market/group-spec.ts";
import type { LeaseId } from "../../market/ids.ts";
import type {
  HttpOptions,
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
import { type ManifestNote, manifestAnnotations } from "./manifest-resource.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What the cluster itself says was sent for a lease. */
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

/** Without the group; undefined without a lease. Our notes on an object that the Go provider wrote since say nothing. */
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

/** A lease as custom resources of the network name it; of one that names no provider, this one's. */
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
    // Not kept: the group on chain has them, and no object depends on them.
    endpoints: [],
  };
}

function readExpose(fields: Fields): ManifestExpose {
  return {
    port: number(fields["port"]),
    externalPort: number(fields["external_port"]),
    proto: fields["proto"] === "UDP" ? "UDP" : "TCP",
    service: text(fields["service"]),
    global: fields["global"] === true,
    hosts: texts(fields["hosts"]),
    httpOptions: readHttpOptions(fieldsOf(fields["http_options"])),
    ip: text(fields["ip"]),
    endpointSequenceNumber: number(fields["endpoint_sequence_number"]),
  };
}

function readHttpOptions(fields: Fields): HttpOptions {
  const nextCases = texts(fields["next_cases"]);
  const proxyBufferSize = number(fields["proxy_buffer_size"]);
  return {
    maxBodySize: number(fields["max_body_size"]),
    readTimeout: number(fields["read_timeout"]),
    sendTimeout: number(fields["send_timeout"]),
    nextTries: number(fields["next_tries"]),
    nextTimeout: number(fields["next_timeout"]),
    ...(nextCases && { nextCases }),
    ...(proxyBufferSize !== 0 && { proxyBufferSize }),
  };
}

function readParams(fields: Fields): ServiceParams {
  const storage = recordsOf(fields["storage"]);
  const read = texts(fieldsOf(fields["permissions"])["read"]);
  const { type, attestation } = fieldsOf(fields["tee"]);
  return {
    storage:
      storage.length === 0
        ? null
        : storage.map(({ name, mount, readOnly }) => ({
            name: text(name),
            mount: text(mount),
            readOnly: readOnly === true,
          })),
    ...(read && { permissions: { read } }),
    ...(type !== undefined && { tee: { type: text(type), attestation: attestation === true } }),
  };
}

function readCredentials(value: unknown): ImageCredentials | null {
  if (value === undefined || value === null) return null;
  const { host, email, username, password } = fieldsOf(value);
  return { host: text(host), email: text(email), username: text(username), password: text(password) };
}

function attributesOf(fields: Fields): { attributes?: readonly Attribute[] } {
  const attributes = recordsOf(fields["attributes"]).map(({ key, value }) => ({ key: text(key), value: text(value) }));
  return attributes.length > 0 ? { attributes } : {};
}

function text(value: unknown): string {
  return textOf(value) ?? "";
}

/** Null where there are none, as in a manifest that names none. */
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

/** Owners are noted by whole seconds; what we wrote before in that second is not newer. */
function endOfSecond(time: string | undefined): number | undefined {
  const atMs = timeOf(time);
  return atMs === undefined ? undefined : atMs + 999;
}
