/** One row of the route table: what is asked, who may, and who answers. The OpenAPI document is made from the same rows. */
import type { Address } from "../../market/address.ts";
import type { Identity, LeaseNumbers, Scope } from "../auth/identity.ts";
import type { StreamHandler } from "../streams/tenant-stream.ts";
import type { Answer } from "./answer.ts";

interface Asked {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Like /lease/{dseq}/{gseq}/{oseq}/status. */
  readonly path: string;
  /** One sentence for the OpenAPI document. */
  readonly about: string;
  /** What the body may be; others are not read. Without it no body is read. */
  readonly body?: { readonly types: readonly string[]; readonly mostBytes: number };
  /** What may be answered, for the OpenAPI document. */
  readonly answers: Readonly<Record<number, string>>;
}

export interface RestRequest {
  readonly identity: Identity;
  readonly query: URLSearchParams;
  header(name: string): string | undefined;
  /** The whole of it, empty where there is none. */
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
  /** What else the path names, like {serviceName}; decoded. */
  readonly names: Readonly<Record<string, string>>;
}

type Handler<Request> = (request: Request) => Answer | Promise<Answer>;

/** Anybody, but with credentials that are good if there are any. */
export interface PublicRoute extends Asked {
  readonly access: "public";
  /** Its handler looks at the header itself: what is in there is no tenant's. */
  readonly readsAuthorization?: boolean;
  readonly handle: Handler<RestRequest>;
}

/** Somebody, whoever that is. What the body names is for the handler to allow. */
interface OwnerRoute extends Asked {
  readonly access: "owner";
  readonly handle: Handler<OwnerRequest>;
}

export interface DeploymentRoute extends Asked {
  readonly access: "deployment";
  readonly scope: Scope;
  readonly handle: Handler<DeploymentRequest>;
}

export interface LeaseRoute extends Asked {
  readonly access: "lease";
  readonly scope: Scope;
  readonly handle: Handler<LeaseRequest>;
}

/** A lease's too, and answered over a WebSocket. */
export interface StreamRoute extends Asked {
  readonly access: "stream";
  readonly scope: Scope;
  /** Found by every verb, and refused by all others than its own. */
  readonly anyVerb?: true;
  /** Whether who may is decided before what is asked is read; else after it. */
  readonly scopeFirst?: true;
  /** Reads what is asked: an answer where it makes no sense. */
  readonly prepare: (request: LeaseRequest) => Answer | StreamHandler;
}

export type Route = PublicRoute | OwnerRoute | DeploymentRoute | LeaseRoute | StreamRoute;
