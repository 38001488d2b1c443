/** One row of the route table: what is asked, who may, and who answers. The OpenAPI document is made from the same rows. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Address } from "../../market/address.ts";
import type { CallerIdentity, LeaseNumbers, TokenScope } from "../auth/identity.ts";
import type { StreamHandler } from "../streams/tenant-stream.ts";
import type { RestAnswer } from "./answer.ts";
import { noBody } from "./body.ts";
import { firstHeader } from "./request-head.ts";

interface Asked {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Like /lease/{dseq}/{gseq}/{oseq}/status. */
  readonly path: string;
  readonly about: string;
  /** What the body may be; others are not read. Without it no body is read. */
  readonly body?: { readonly types: readonly string[]; readonly mostBytes: number };
  readonly answers: Readonly<Record<number, string>>;
}

export interface RestRequest {
  readonly identity: CallerIdentity;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  readonly body: Uint8Array;
  /** Aborted when the client goes away or the time is over. */
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

interface Row<Access extends string, Request> extends Asked {
  readonly access: Access;
  readonly handle: (request: Request) => RestAnswer | Promise<RestAnswer>;
}

interface Scoped {
  readonly scope: TokenScope;
}

/** Anybody, but with credentials that are good if there are any. */
export interface PublicRoute extends Row<"public", RestRequest> {
  /** Its handler looks at the header itself: what is in there is no tenant's. */
  readonly readsAuthorization?: boolean;
}

export type DeploymentRoute = Row<"deployment", DeploymentRequest> & Scoped;
export type LeaseRoute = Row<"lease", LeaseRequest> & Scoped;

/** A lease's too, and answered over a WebSocket. */
export interface StreamRoute extends Asked, Scoped {
  readonly access: "stream";
  /** Reads what is asked: an answer where it makes no sense. */
  readonly prepare: (request: LeaseRequest) => RestAnswer | StreamHandler;
}

/** An owner's route is for any account; its handler allows what the body names. */
export type Route = PublicRoute | Row<"owner", OwnerRequest> | DeploymentRoute | LeaseRoute | StreamRoute;

type Found =
  | { readonly kind: "route"; readonly route: Route; readonly names: Readonly<Record<string, string>> }
  | { readonly kind: "unknown" }
  | { readonly kind: "otherVerb" };

interface Pattern {
  readonly pieces: readonly string[];
  readonly routes: Map<string, Route>;
}

const [unknown, otherVerb] = [{ kind: "unknown" }, { kind: "otherVerb" }] as const;
const noNames: Readonly<Record<string, string>> = {};

export function createRouter(routes: readonly Route[]): (method: string, path: string) => Found {
  const plain = new Map<string, Map<string, Route>>();
  const patterns = new Map<string, Pattern>();
  for (const route of routes) {
    const { path, method } = route;
    if (!path.includes("{")) {
      const verbs = plain.get(path) ?? new Map<string, Route>();
      plain.set(path, verbs.set(method, route));
    } else {
      const pattern = patterns.get(path) ?? { pieces: path.split("/"), routes: new Map() };
      pattern.routes.set(method, route);
      patterns.set(path, pattern);
    }
  }
  const compiled = [...patterns.values()];

  return (method, path) => {
    const verbs = plain.get(path);
    if (verbs) return found(verbs.get(method), noNames, path);
    const pieces = path.split("/");
    for (const pattern of compiled) {
      if (matches(pattern.pieces, pieces)) {
        return found(pattern.routes.get(method), namesIn(pattern.pieces, pieces), path);
      }
    }
    return unknown;
  };
}

function found(route: Route | undefined, names: Readonly<Record<string, string>>, path: string): Found {
  if (route) return { kind: "route", route, names };
  return path.startsWith("/lease/") ? unknown : otherVerb;
}

function matches(wanted: readonly string[], pieces: readonly string[]): boolean {
  if (wanted.length !== pieces.length) return false;
  for (const [index, want] of wanted.entries()) {
    const piece = pieces[index];
    if (isName(want) ? piece === "" : want !== piece) return false;
  }
  return true;
}

function namesIn(wanted: readonly string[], pieces: readonly string[]): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    if (isName(want)) names[want.slice(1, -1)] = pieces[index] ?? "";
  }
  return names;
}

function isName(piece: string): boolean {
  return piece.startsWith("{");
}

interface Received {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
}

/** A class, since a literal with getters has a shape of its own each time: each of them then costs more than the whole answer. */
export class RouteRequest implements LeaseRequest {
  readonly identity: CallerIdentity;
  /** A route that needs one is not asked without. */
  readonly owner: Address;
  readonly dseq: bigint;
  readonly gseq: number;
  readonly oseq: number;
  readonly names: Readonly<Record<string, string>>;
  body: Uint8Array = noBody;
  /** Handlers take it by itself. */
  readonly header = (name: string): string | undefined => firstHeader(this.#received.request, name);
  readonly #received: Received;
  #gone: AbortController | undefined = undefined;

  constructor(
    received: Received,
    identity: CallerIdentity,
    { dseq, gseq, oseq }: LeaseNumbers,
    names: Readonly<Record<string, string>>,
  ) {
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
