/** What a handler is given. What costs something is made when it is looked at. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Address } from "../../market/address.ts";
import type { Identity, LeaseNumbers } from "../auth/identity.ts";
import { noBody } from "./body.ts";
import { firstHeader } from "./raw-headers.ts";
import type { LeaseRequest } from "./route.ts";

interface Received {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: string;
}

/** A class, since a literal with getters has a shape of its own each time: each of them then costs more than the whole answer. */
export class AskedRequest implements LeaseRequest {
  readonly identity: Identity;
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
    identity: Identity,
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

  /** Its time is over. */
  end(): void {
    this.#gone?.abort();
  }
}
