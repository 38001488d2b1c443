/** The manifest in the form that is hashed: names, order and absence matter. A list not given is null, not empty. */
import { createHash } from "node:crypto";
import { type Attribute, endpointKinds, type UnitResources } from "./group-spec.ts";
import { sortedJson } from "./sorted-json.ts";

export type Manifest = readonly ManifestGroup[];

export interface ManifestGroup {
  readonly name: string;
  readonly services: readonly ManifestService[];
}

export interface ManifestService {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[] | null;
  readonly args: readonly string[] | null;
  readonly env: readonly string[] | null;
  readonly resources: ManifestResources;
  readonly count: number;
  readonly expose: readonly ManifestExpose[];
  readonly params?: ServiceParams;
  readonly credentials: ImageCredentials | null;
}

export interface ManifestResources {
  readonly id: number;
  readonly cpu: { readonly units: Amount; readonly attributes?: readonly Attribute[] };
  readonly memory: { readonly size: Amount; readonly attributes?: readonly Attribute[] };
  readonly storage?: readonly { name: string; size: Amount; attributes?: readonly Attribute[] }[];
  readonly gpu: { readonly units: Amount; readonly attributes?: readonly Attribute[] };
  /** Kinds are the chain's numbers; the first of them, 0, is left out. */
  readonly endpoints: readonly { kind?: number; sequence_number: number }[];
}

/** A whole number of any size, as text. */
interface Amount {
  readonly val: string;
}

export interface ManifestExpose {
  readonly port: number;
  /** 0 where it is the port itself. */
  readonly externalPort: number;
  readonly proto: "TCP" | "UDP";
  readonly service: string;
  readonly global: boolean;
  readonly hosts: readonly string[] | null;
  readonly httpOptions: HttpOptions;
  readonly ip: string;
  readonly endpointSequenceNumber: number;
}

/** When a request is retried on another pod. Only tenants' tools check these: a manifest may have any string. */
export const nextCaseWords: readonly string[] = [
  ...["error", "timeout", "500", "502", "503", "504", "403", "404", "429", "off"],
];
/** Limits of an SDL: the buffer for response headers, the request body, and timeouts. */
export const mostProxyBufferBytes = 1_048_576;
export const mostBodyBytes = 104_857_600;
export const mostTimeoutMs = 60_000;

export interface HttpOptions {
  readonly maxBodySize: number;
  readonly readTimeout: number;
  readonly sendTimeout: number;
  readonly nextTries: number;
  readonly nextTimeout: number;
  readonly nextCases?: readonly string[];
  readonly proxyBufferSize?: number;
}

export interface ServiceParams {
  readonly storage: readonly { readonly name: string; readonly mount: string; readonly readOnly: boolean }[] | null;
  readonly credentials?: ImageCredentials;
  readonly permissions?: { readonly read?: readonly string[] };
  readonly tee?: { readonly type: string; readonly attestation: boolean };
}

export interface ImageCredentials {
  readonly host: string;
  readonly email: string;
  readonly username: string;
  readonly password: string;
}

/** The manifest's hash on chain. */
export function manifestHash(manifest: Manifest): Uint8Array {
  return createHash("sha256").update(sortedJson(manifest)).digest();
}

export function manifestResources({ id, cpu, memory, gpu, storage, endpoints }: UnitResources): ManifestResources {
  return {
    id,
    cpu: { units: amount(cpu.milli), ...given(cpu) },
    memory: { size: amount(memory.bytes), ...given(memory) },
    ...(storage.length > 0 && {
      storage: storage.map((volume) => ({ name: volume.name, size: amount(volume.bytes), ...given(volume) })),
    }),
    gpu: { units: amount(gpu.count), ...given(gpu) },
    endpoints: endpoints.map(({ kind, sequenceNumber }) => {
      const number = endpointKinds.indexOf(kind);
      return { ...(number > 0 && { kind: number }), sequence_number: sequenceNumber };
    }),
  };
}

/** Every host name that a group wants. */
export function hostsIn({ services }: ManifestGroup): string[] {
  return services.flatMap(({ expose }) => expose.flatMap(({ hosts }) => hosts ?? []));
}

/** Host names of ports that the ingress serves; on other ports a host name has no effect. */
export function ingressHostsIn({ services }: ManifestGroup): string[] {
  return services.flatMap(({ expose }) => expose.filter(isIngress).flatMap(({ hosts }) => hosts ?? []));
}

/** Whether it is reached through the cluster's ingress rather than a port of its own. */
export function isIngress({ proto, global, externalPort, port }: ManifestExpose): boolean {
  return proto === "TCP" && global && (externalPort || port) === 80;
}

function amount(value: bigint): Amount {
  return { val: `${value}` };
}

/** Attributes are left out where there are none. */
function given({ attributes }: { attributes: readonly Attribute[] }): { attributes?: readonly Attribute[] } {
  return attributes.length > 0 ? { attributes } : {};
}

/** A lease's manifest, in the journal or in the cluster. */
interface Remembered {
  /** The hash of the manifest. */
  readonly version: string;
  readonly receivedAtMs: number;
  readonly withdrawnAtMs?: number | undefined;
}

/** Whether the cluster's record is newer than the journal's. `current` may lag behind, so it only speaks for the journal. */
export function isNewerInCluster(
  recorded: Remembered | undefined,
  row: Remembered | undefined,
  current: Uint8Array | undefined,
): boolean {
  if (!recorded) return false;
  if (!row) return true;
  if (recorded.version !== row.version && current && row.version === Buffer.from(current).toString("hex")) return false;
  return lastChange(recorded) > lastChange(row);
}

function lastChange({ receivedAtMs, withdrawnAtMs = 0 }: Remembered): number {
  return Math.max(receivedAtMs, withdrawnAtMs);
}
