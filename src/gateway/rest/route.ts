/** Rows of the route table. The OpenAPI document is made from the same rows. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Address } from "../../market/address.ts";
import type { CallerIdentity, LeaseNumbers, TokenScope } from "../auth/identity.ts";
import type { StreamHandler } from "../streams/tenant-stream.ts";
import type { RestAnswer } from "./answer.ts";
import { noBody } from "./body.ts";
import { firstHeader } from "./request-head.ts";

interface RouteInfo {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Like /lease/{dseq}/{gseq}/{oseq}/status. */
  readonly path: string;
  readonly about: string;
  /** Without it no body is read. */
  readonly body?: { readonly types: readonly string[]; readonly mostBytes: number };
  readonly answers: Readonly<Record<number, string>>;
}

export interface RestRequest {
  readonly identity: CallerIdentity;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  readonly body: Uint8Array;
  /** Aborted when the client leaves or the request times out. */
  readonly signal: AbortSignal;
}

export interface OwnerRequest extends RestRequest {
  readonly owner: Address;
}

export interface DeploymentRequest extends OwnerRequest {
  readonly dseq: bigint;
}

export interface LeaseRequest extends OwnerRequest, LeaseNumbers {
  readonly names: Readonly<Record<string, string>>;
}

interface Row<Access extends string, Request> extends RouteInfo {
  readonly access: Access;
  readonly handle: (request: Request) => RestAnswer | Promise<RestAnswer>;
}

interface Scoped {
  readonly scope: TokenScope;
}

/** Anonymous clients are permitted, invalid credentials are not. */
export interface PublicRoute extends Row<"public", RestRequest> {
  /** Its handler reads the header itself, which holds an operator's token. */
  readonly readsAuthorization?: boolean;
}

export type DeploymentRoute = Row<"deployment", DeploymentRequest> & Scoped;
export type LeaseRoute = Row<"lease", LeaseRequest> & Scoped;

/** Of a lease, over a WebSocket. */
export interface StreamRoute extends RouteInfo, Scoped {
  readonly access: "stream";
  /** Reads the query: a response where it is invalid. */
  readonly prepare: (request: LeaseRequest) => RestAnswer | StreamHandler;
}

/** An owner's route is for any account; its handler authorizes what the body names. */
export type Route = PublicRoute | Row<"owner", OwnerRequest> | DeploymentRoute | LeaseRoute | StreamRoute;

export type Names = Readonly<Record<string, string>>;

type Found =
  | { readonly kind: "route"; readonly route: Route; readonly names: Names }
  | { readonly kind: "unknown" | "otherVerb" };

const noNames: Names = {};

export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  const patterns = [...byPath.keys()]
    .filter((path) => path.includes("{"))
    .map((path) => ({ path, pieces: path.split("/") }));

  function find(method: string, path: string, pattern: string, names: Names): Found {
    const route = byPath.get(pattern)?.find((each) => each.method === method);
    if (route) return { kind: "route", route, names };
    return { kind: path.startsWith("/lease/") ? "unknown" : "otherVerb" };
  }

  return (method, path) => {
    if (byPath.has(path) && !path.includes("{")) return find(method, path, path, noNames);
    const pieces = path.split("/");
    for (const pattern of patterns) {
      const names = namesIn(pattern.pieces, pieces);
      if (names) return find(method, path, pattern.path, names);
    }
    return { kind: "unknown" };
  };
}

/** Undefined where the path does not match. */
function namesIn(pattern: readonly string[], pieces: readonly string[]): Names | undefined {
  if (pattern.length !== pieces.length) return undefined;
  const names: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const piece = pieces[index] ?? "";
    if (!wanted.startsWith("{")) {
      if (wanted !== piece) return undefined;
    } else if (piece === "") return undefined;
    else names[wanted.slice(1, -1)] = piece;
  }
  return names;
}

interface Received {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
}

/** A class: object literals with getters have a hidden class each, which costs more than the whole response. */
export class RouteRequest implements LeaseRequest {
  readonly identity: CallerIdentity;
  /** Set for all routes but public ones. */
  readonly owner: Address;
  readonly dseq: bigint;
  readonly gseq: number;
  readonly oseq: number;
  readonly names: Names;
  body: Uint8Array = noBody;
  /** Handlers destructure it. */
  readonly header = (name: string): string | undefined => firstHeader(this.#received.request, name);
  readonly #received: Received;
  #gone: AbortController | undefined = undefined;

  constructor(received: Received, identity: CallerIdentity, { dseq, gseq, oseq }: LeaseNumbers, names: Names) {
    this.#received = received;
    this.identity = identity;
    this.owner = identity.owner as Address;
    this.dseq = dseq;
    this.gseq = gseq;
    this.oseq = oseq;
    this.names = names;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#received.query);
  }

  get signal(): AbortSignal {
    if (this.#gone) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    this.#received.response.once("close", () => gone.abort());
    return gone.signal;
  }

  end(): void {
    this.#gone?.abort();
  }
}
