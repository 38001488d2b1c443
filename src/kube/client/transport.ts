/** Sends requests to an API server, over sockets or within the process. */
import type { Duplex, Readable } from "node:stream";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { apiVersionOf, type Kind, objectText } from "../kinds.ts";
import type { CallOptions, ExecOptions, ExecSession, ObjectAt, Selection } from "../kube.ts";
import type { Operation, Peer } from "./api-errors.ts";

export interface Transport {
  /** Resolves with the head of a response of any status. */
  send(request: SentRequest): Promise<KubeAnswer>;
  exec(at: ObjectAt, options: ExecOptions): Promise<ExecSession>;
  forwardPort(at: ObjectAt, port: number, options: CallOptions): Promise<Duplex>;
  /** The server, for messages. */
  peer(): Promise<Peer>;
  /** The server responded 401: credentials are read again. */
  rejected(): void;
  close(): void;
}

/** Separate connection pools: calls, long-lived streams, and requests proxied to pods, which may be slow. */
export type Lane = "calls" | "streams" | "proxied";

export interface SentRequest extends Operation {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** Ends the response too. */
  readonly signal?: AbortSignal | undefined;
  /** How long the server may take to begin its response. */
  readonly answerMs?: number;
  readonly lane?: Lane;
  /** Without it, a request on a kept-alive connection that the server just closed is sent again. */
  readonly neverTwice?: boolean;
}

export interface KubeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
  readonly peer: Peer;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function groupPath(kind: Kind): string {
  return kind.group === "" ? `/api/${kind.version}` : `/apis/${apiVersionOf(kind)}`;
}

export function collectionPath(kind: Kind, namespace?: string | undefined): string {
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${groupPath(kind)}${scope}/${kind.plural}`;
}

/** Empty names and dots would lead to other objects. Names can come from custom resources, so they are rejected as the server does. */
export function objectPath(kind: Kind, { namespace, name }: ObjectAt): string {
  if (name === "" || name === "." || name === "..") {
    const resource = objectText(kind, { namespace, name });
    const reason = "an object has a name, which is neither empty nor made of dots";
    throw new ProviderError("AKP_KUBE_REFUSED", { verb: "find", resource, status: 422, reason });
  }
  invariant(!kind.namespaced || namespace, "this kind of object lives in a namespace", { kind: kind.kind, name });
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

/** Of an object or its subresource. */
export function requestPath(kind: Kind, at: ObjectAt, subresource: "status" | undefined): string {
  return subresource ? `${objectPath(kind, at)}/${subresource}` : objectPath(kind, at);
}

/** Undefined values are left out. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return path;
  const texts = given.map(([name, value]): [string, string] => [name, String(value)]);
  return `${path}?${new URLSearchParams(texts)}`;
}

export function dryRunQuery(dryRun: boolean): Query {
  return { dryRun: dryRun ? "All" : undefined };
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}
