/** What the services need of Kubernetes: caches by list and watch, and server-side apply that skips what is already so. */
import type { Duplex, Readable, Writable } from "node:stream";
import { reasonOf } from "../runtime/errors.ts";
import type { Kind } from "./kinds.ts";

export interface Kube {
  /** The field manager of our writes. */
  readonly fieldManager: string;
  /** A cache of all selected objects of a kind, kept up to date until it is closed. */
  watch<T, Index extends string = never>(options: WatchOptions<T, Index>): WatchCache<T, Index>;
  /** Whether the server serves this kind; cached for some seconds. */
  serves(kind: Kind, signal?: AbortSignal): Promise<boolean>;
  /** Undefined where it does not exist. */
  get(kind: Kind, at: ObjectAt, options?: CallOptions): Promise<KubeObject | undefined>;
  /** All pages, of one version. */
  list(kind: Kind, options?: Selection & CallOptions): Promise<KubeObject[]>;
  /** AKP_KUBE_EXISTS where it exists. */
  create(kind: Kind, object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  apply(kind: Kind, desired: KubeObject, options?: ApplyOptions): Promise<Applied>;
  /** Replaces at its resourceVersion. AKP_KUBE_CONFLICT where it changed (or a lost try of ours did it), AKP_KUBE_OTHER_UID for another object. */
  replace(kind: Kind, object: KubeObject, options?: SubresourceOptions): Promise<KubeObject>;
  /** JSON patch (RFC 6902). AKP_KUBE_CONFLICT where a test or path fails. Not retried where it may have happened. */
  patch(
    kind: Kind,
    at: ObjectAt,
    operations: readonly PatchOperation[],
    options?: SubresourceOptions,
  ): Promise<KubeObject>;
  /** False where it did not exist; true also where the response of a try was lost. A namespace is deleted by uid only. */
  delete(kind: Kind, at: ObjectAt, options?: DeleteOptions): Promise<boolean>;
  /** The lines of a container, oldest first, in batches. With `follow` until the container ends or the signal is aborted. */
  logs(at: ObjectAt, options?: PodLogOptions): AsyncIterable<readonly LogLine[]>;
  /** Runs a command in a container. */
  exec(at: ObjectAt, options: ExecOptions): Promise<ExecSession>;
  /** A connection to a port of a pod, through the API server. */
  forwardPort(at: ObjectAt, port: number, options?: CallOptions): Promise<Duplex>;
  /** A GET to a pod or a service inside the cluster, through the API server. The path has its query. */
  proxy(
    target: {
      readonly kind: "pod" | "service";
      readonly namespace: string;
      readonly name: string;
      readonly port: number | string;
    },
    request?: CallOptions & { readonly path?: string; readonly mostBytes?: number },
  ): Promise<ProxyAnswer>;
  version(
    options?: CallOptions,
  ): Promise<{ readonly major: string; readonly minor: string; readonly gitVersion: string }>;
  readonly counts: Readonly<KubeCounts>;
  /** Open ones. */
  readonly watches: Iterable<WatchCache<unknown>>;
  /** Ends every watch and connection. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** The call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for the call with its retries (kubeWholeCallMs by default); of logs and commands, until they begin. */
  readonly deadlineMs?: number | undefined;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** Opaque; see `isLaterVersion`. */
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
  /** RFC 3339, of its last change. */
  readonly time?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

/** An object as the API writes it in JSON. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectAt {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface WatchOptions<T, Index extends string = never> extends Selection {
  readonly kind: Kind;
  /** What is cached of an object; must not throw. Without `withManagedFields` it gets none. */
  readonly project: (object: KubeObject) => T;
  readonly withManagedFields?: boolean;
  /** Objects are only handed over as added, again after every list. Deletions are not reported. */
  readonly uncached?: boolean;
  /** Indexes for `by`: the key of a value, or undefined for none. */
  readonly indexes?: KeyFunctions<T> & Readonly<Record<Index, unknown>>;
  /** Called for each change in order, after the cache has it. Retried when it fails, skipped after kubeHandlerMs. */
  readonly handle?: (change: Change<T>) => void | Promise<void>;
  /** Called before a relist because the server went back in time: etcd was restored, for instance. */
  readonly onServerRestored?: (reason: string) => void;
}

/** Separate from the inferred names, or T would not be inferred in time. */
type KeyFunctions<T> = Readonly<Record<string, (value: NoInfer<T>) => string | undefined>>;

export interface Change<T> extends ObjectAt {
  readonly type: "added" | "modified" | "deleted";
  /** Of a deleted object, the last one seen. */
  readonly value: T;
  /** Of a modified object, the replaced value. */
  readonly before?: T;
}

export interface WatchCache<T, Index extends string = never> {
  /** What is watched: "pods", "deployments.apps". */
  readonly resource: string;
  get(at: ObjectAt): T | undefined;
  list(): Iterable<T>;
  /** All with this key in an index. */
  by(index: Index, key: string): Iterable<T>;
  readonly size: number;
  /** Listed at least once. */
  readonly ready: boolean;
  /** Resolves when it is ready. */
  synced(signal?: AbortSignal): Promise<void>;
  /** It includes all changes up to this version; undefined before the first list. */
  readonly version: string | undefined;
  /** Resolves when it has this version or a later one; versions of other objects come by bookmarks only. */
  seen(version: string, signal?: AbortSignal): Promise<void>;
  /** Why it may be stale: the last failure, or AKP_KUBE_STALE. */
  readonly error: Error | undefined;
  /** Time since the server last sent anything. While a handler runs, nothing is read. */
  readonly ageMs: number;
  readonly counts: Readonly<WatchCounts>;
  /** Lists again and replaces everything, for callers that found it wrong. Until then `error` is set. */
  relist(reason: string): void;
  close(): Promise<void>;
}

export interface WatchCounts {
  events: number;
  bookmarks: number;
  lists: number;
  /** Lists after the first one. */
  relists: number;
  connections: number;
  /** Connections that were silent too long. */
  silences: number;
  errors: number;
  handlerErrors: number;
}

export interface WriteOptions extends CallOptions {
  /** The server only validates the write and returns its result. */
  readonly dryRun?: boolean;
}

export interface SubresourceOptions extends WriteOptions {
  /** Writes only the status of an existing object; without it, all but the status. */
  readonly subresource?: "status";
}

/** A path is a JSON pointer: "/metadata/finalizers/0", where "~1" stands for a slash in a name and "~0" for a tilde. */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export interface ApplyOptions extends SubresourceOptions {
  /** Takes over fields that others own. */
  readonly force?: boolean;
  /** Our fields as a cache has them (`ownedFields`, of the same subresource), null for no object; without it the object is read. */
  readonly live?: OwnedFields | null;
}

export interface Applied {
  /** False where nothing had to be written. */
  readonly written: boolean;
  /** Undefined where nothing was written and `live` was given, and for a dry run that an admission webhook does not support. */
  readonly object: KubeObject | undefined;
  /** Warnings of the server. */
  readonly warnings: readonly string[];
}

export interface DeleteOptions extends WriteOptions {
  /** Precondition: AKP_KUBE_OTHER_UID for another object of the name. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly graceSeconds?: number;
}

export interface PodLogOptions extends CallOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly tailLines?: number;
  /** Of the previous container. */
  readonly previous?: boolean;
  /** With `follow`: called when the container has ended or not begun; true continues with the next one. */
  readonly next?: (signal: AbortSignal) => Promise<boolean>;
}

export interface LogLine {
  /** RFC 3339 with nanoseconds, as the node wrote it. */
  readonly time: string;
  readonly text: string;
}

export interface ExecOptions extends CallOptions {
  readonly container?: string;
  readonly command: readonly string[];
  /** A terminal: then there is no stderr of its own. */
  readonly tty?: boolean;
  /** Without it the command has no input. */
  readonly stdin?: boolean;
}

export interface ExecSession {
  /** Ending it closes the stdin of the command. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  resize(size: { readonly columns: number; readonly rows: number }): void;
  /** The exit code; rejects where the connection breaks before. */
  readonly exit: Promise<number>;
  /** Ends the connection. */
  close(): void;
}

export interface ProxyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface KubeVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

export interface KubeCounts {
  requests: number;
  retries: number;
  applied: number;
  /** Applies that had nothing to write. */
  unchanged: number;
  /** Of the server; each text is logged once. */
  warnings: number;
}

/** Versions of all known API servers are growing numbers; of others none is later. */
export function isLaterVersion(version: string, than: string): boolean {
  const isNumber = /^\d+$/;
  return isNumber.test(version) && isNumber.test(than) && BigInt(version) > BigInt(than);
}

/** Why decisions cannot rely on a cache now, for operators. */
export function cacheProblem({ resource, ready, error }: WatchCache<unknown>): string | undefined {
  if (error) return `${resource} are not followed: ${reasonOf(error)}`;
  return ready ? undefined : `the ${resource} of the cluster have not been read yet`;
}

export function firstCacheProblem(caches: readonly WatchCache<unknown>[]): string | undefined {
  return caches.map(cacheProblem).find((problem) => problem !== undefined);
}

/** Which fields of a live object are ours, and what the object has there. */
export interface OwnedFields {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly deleting: boolean;
  readonly fields: Owned;
}

/** Of a value. */
export type Owned =
  // The live value, undefined where there is none: a scalar, or an atomic list or map.
  | { readonly is: "whole"; readonly value: unknown }
  | { readonly is: "record"; readonly fields: Readonly<Record<string, Owned>> }
  // Some elements of it, in their live order.
  | { readonly is: "list"; readonly elements: readonly Owned[] }
  // The value has other owners only.
  | { readonly is: "foreign" };

export type OwnedRecord = Extract<Owned, { is: "record" }>;
