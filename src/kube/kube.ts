/** What the services need of Kubernetes: caches by list and watch, and server-side apply that skips what is already so. */
import type { Duplex, Readable, Writable } from "node:stream";
import { reasonOf } from "../runtime/errors.ts";
import type { Kind } from "./kinds.ts";

export interface Kube {
  /** Whose fields are ours: the name our writes carry. */
  readonly fieldManager: string;
  /** A cache of all objects of a kind (in a namespace, with a selector) that is kept up to date until it is closed. */
  watch<T, Index extends string = never>(options: WatchOptions<T, Index>): WatchCache<T, Index>;
  /** Whether the server offers this kind now, or did some seconds ago; what a definition has to bring may not be there. */
  serves(kind: Kind, signal?: AbortSignal): Promise<boolean>;
  /** The object itself, from the server; undefined when there is none. */
  get(kind: Kind, at: ObjectAt, options?: CallOptions): Promise<KubeObject | undefined>;
  /** Every object, page by page, all of one moment. */
  list(kind: Kind, options?: Selection & CallOptions): Promise<KubeObject[]>;
  /** For what must not be there yet; AKP_KUBE_EXISTS when it is. */
  create(kind: Kind, object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  apply(kind: Kind, desired: KubeObject, options?: ApplyOptions): Promise<Applied>;
  /** Replaces at its resourceVersion. AKP_KUBE_CONFLICT where it changed (or our lost try did it), AKP_KUBE_OTHER_UID for another object. */
  replace(kind: Kind, object: KubeObject, options?: SubresourceOptions): Promise<KubeObject>;
  /** JSON patch (RFC 6902). AKP_KUBE_CONFLICT when a test or path fails. Not retried where it may have happened. */
  patch(
    kind: Kind,
    at: ObjectAt,
    operations: readonly PatchOperation[],
    options?: SubresourceOptions,
  ): Promise<KubeObject>;
  /** False when it was not there; true also where the answer to a try was lost. A namespace is deleted by uid only. */
  delete(kind: Kind, at: ObjectAt, options?: DeleteOptions): Promise<boolean>;
  /** The lines of a container, oldest first, several at a time. With `follow` it goes on until the container ends or the signal. */
  logs(at: ObjectAt, options?: PodLogOptions): AsyncIterable<readonly LogLine[]>;
  /** Runs a command in a container. */
  exec(at: ObjectAt, options: ExecOptions): Promise<ExecSession>;
  /** A connection to a port of a pod, through the API server. */
  forwardPort(at: ObjectAt, port: number, options?: CallOptions): Promise<Duplex>;
  /** A GET to a pod or a service inside the cluster, through the API server. */
  proxy(target: ProxyTarget, request?: ProxyRequest): Promise<ProxyAnswer>;
  version(options?: CallOptions): Promise<KubeVersion>;
  readonly counts: Readonly<KubeCounts>;
  /** Those that were not closed. */
  readonly watches: Iterable<WatchCache<unknown>>;
  /** Ends every watch and connection. */
  close(): Promise<void>;
}

/** Of every call. */
export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for the call with its retries (kubeWholeCallMs by default); of logs and commands, until they begin. */
  readonly deadlineMs?: number | undefined;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** Opaque: equal or not. Which of two is later, where that can be told, says `isLaterVersion`. */
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
  /** RFC 3339: when it last changed what it owns. */
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
  /** What is kept of an object. It must not throw, and sees no managedFields unless asked for. */
  readonly project: (object: KubeObject) => T;
  readonly withManagedFields?: boolean;
  /** Keeps nothing: what is listed or seen is handed over as added, again after every list. Deletions are not reported. */
  readonly uncached?: boolean;
  /** By what else than its name an object is looked up (`by`): the key that its value has there, or undefined for none. */
  readonly indexes?: KeyFunctions<T> & Readonly<Record<Index, unknown>>;
  /** Called for each change in order, after the cache shows it. A handler that fails is retried, one that takes longer than kubeHandlerMs skipped. */
  readonly handle?: (change: Change<T>) => void | Promise<void>;
  /** Told, before it lists again, that the server has another past than what it shows: etcd was restored, for instance. */
  readonly onServerRestored?: (reason: string) => void;
}

/** Apart from the names, which are inferred: together the compiler would not know T in time. */
type KeyFunctions<T> = Readonly<Record<string, (value: NoInfer<T>) => string | undefined>>;

export interface Change<T> extends ObjectAt {
  readonly type: "added" | "modified" | "deleted";
  /** As it is now; of a deleted object, the last that was seen. */
  readonly value: T;
  /** Of a modified object: the value that this one replaces. */
  readonly before?: T;
}

export interface WatchCache<T, Index extends string = never> {
  /** What is watched: "pods", "deployments.apps". */
  readonly resource: string;
  get(at: ObjectAt): T | undefined;
  list(): Iterable<T>;
  /** All that have this key in an index of the watch. */
  by(index: Index, key: string): Iterable<T>;
  readonly size: number;
  /** Filled at least once. Until then it is empty, and that means nothing. */
  readonly ready: boolean;
  /** Resolves when it is ready. */
  synced(signal?: AbortSignal): Promise<void>;
  /** All that happened up to this version of the server is in it; undefined until it was filled. */
  readonly version: string | undefined;
  /** Resolves when it shows this version or a later one; versions of what it does not watch arrive only now and then. */
  seen(version: string, signal?: AbortSignal): Promise<void>;
  /** Why it may be out of date right now, if it may: what went wrong, or that nothing was heard for too long. */
  readonly error: Error | undefined;
  /** How long ago the server was last heard of. While changes wait for a handler, it is not listened to. */
  readonly ageMs: number;
  readonly counts: Readonly<WatchCounts>;
  /** Lists again, believing nothing that it shows: for who has seen that it lies. Until then it is in trouble. */
  relist(reason: string): void;
  close(): Promise<void>;
}

export interface WatchCounts {
  events: number;
  bookmarks: number;
  lists: number;
  /** Lists after the first: the version we had was gone or in doubt. */
  relists: number;
  connections: number;
  /** Connections that were silent for too long. */
  silences: number;
  errors: number;
  handlerErrors: number;
}

/** Of every write. */
export interface WriteOptions extends CallOptions {
  /** Nothing is written; the server says what would come of it, with every refusal that the write itself would get. */
  readonly dryRun?: boolean;
}

export interface SubresourceOptions extends WriteOptions {
  /** Writes the status of an object that is there, and nothing else; without it, all but the status. */
  readonly subresource?: "status";
}

/** A path is a JSON pointer: "/metadata/finalizers/0", where "~1" stands for a slash in a name and "~0" for a tilde. */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

export interface ApplyOptions extends SubresourceOptions {
  /** Takes fields of ours back from whoever else owns them. */
  readonly force?: boolean;
  /** Our fields as a cache knows them (`ownedFields`, with the same subresource), or null where it knows of no object; else the server is asked. */
  readonly live?: OwnedFields | null;
}

export interface Applied {
  /** False when nothing had to be written. Of a dry run: whether it would have been. */
  readonly written: boolean;
  /** Absent when nothing was written and `live` was given, and of a dry run that an admission webhook does not support. */
  readonly object: KubeObject | undefined;
  /** What the server has to say about it, although it did it: for instance that pods of it will be refused. */
  readonly warnings: readonly string[];
}

export interface DeleteOptions extends WriteOptions {
  /** The very object that was looked at, not one that took its name; AKP_KUBE_OTHER_UID when it is another. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Foreground: what it owns goes first. Orphan: what it owns stays. */
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly graceSeconds?: number;
}

export interface PodLogOptions extends CallOptions {
  readonly container?: string;
  readonly follow?: boolean;
  readonly tailLines?: number;
  /** Of the container before this one, which ended. */
  readonly previous?: boolean;
  /** Called with `follow` when the container has ended or not begun; true goes on with the next one. */
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
  /** Ending it tells the command that no more comes; the output still does. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  resize(size: { readonly columns: number; readonly rows: number }): void;
  /** The exit code; rejects when the connection breaks before the command has ended. */
  readonly exit: Promise<number>;
  /** Ends the connection. */
  close(): void;
}

export interface ProxyTarget extends ObjectAt {
  readonly kind: "pod" | "service";
  readonly namespace: string;
  readonly port: number | string;
}

export interface ProxyRequest extends CallOptions {
  /** With its query: "/status?full=1". */
  readonly path?: string;
  /** A longer answer is refused. */
  readonly mostBytes?: number;
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
  /** Calls that were sent again. */
  retries: number;
  applied: number;
  /** Applies that had nothing to write. */
  unchanged: number;
  /** That came with answers; each text is logged once. */
  warnings: number;
}

/** Versions are numbers that only grow in every API server we know of; of others none is later. */
export function isLaterVersion(version: string, than: string): boolean {
  const isNumber = /^\d+$/;
  return isNumber.test(version) && isNumber.test(than) && BigInt(version) > BigInt(than);
}

/** Why nothing may be judged by a cache right now, in words for an operator; undefined where it may. */
export function cacheProblem({ resource, ready, error: trouble }: WatchCache<unknown>): string | undefined {
  if (trouble) return `${resource} are not followed: ${reasonOf(trouble)}`;
  return ready ? undefined : `the ${resource} of the cluster have not been read yet`;
}

/** The first of several. */
export function firstCacheProblem(caches: readonly WatchCache<unknown>[]): string | undefined {
  return caches.map(cacheProblem).find((trouble) => trouble !== undefined);
}

/** Which fields of a live object are ours, and what the object has there. */
export interface OwnedFields {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** It is on its way out, whatever it looks like. */
  readonly deleting: boolean;
  readonly fields: Owned;
}

/** What we own of a value. */
export type Owned =
  // All of it: a scalar, or a list or record that belongs to one owner. The live value, undefined where there is none.
  | { readonly is: "whole"; readonly value: unknown }
  | OwnedRecord
  // Some elements of it, in their live order.
  | { readonly is: "list"; readonly elements: readonly Owned[] }
  // Nothing of it, and there is something: the server's, or somebody else's.
  | { readonly is: "foreign" };

export interface OwnedRecord {
  readonly is: "record";
  readonly fields: Readonly<Record<string, Owned>>;
}
