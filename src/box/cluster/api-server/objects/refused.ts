/** A rejection as the API writes it: what was asked cannot be done, and why. */
import { apiError, type Operation, type Peer } from "../../../../kube/client/api-errors.ts";

interface RefusalDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly group?: string;
  readonly causes?: readonly { readonly reason: string; readonly message: string; readonly field?: string }[];
  readonly retryAfterSeconds?: number;
}

export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  /** One word for programs, as "AlreadyExists". */
  readonly reason: string;
  readonly details: RefusalDetails | undefined;

  constructor(status: number, reason: string, message: string, details?: RefusalDetails) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}

/** With whom one speaks when there is nobody, for messages. */
export const peer: Peer = { server: new URL("http://simulated"), path: "the simulated cluster" };

/** As it goes over the wire. */
export function statusOf({ status: code, reason, message, details }: Refused): object {
  const said = { message, ...(reason === "" ? {} : { reason }), ...(details === undefined ? {} : { details }), code };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", ...said };
}

/** As a client throws it. */
export function clientError(refused: Refused, asked: Operation): Error {
  return apiError({ status: refused.status, body: JSON.stringify(statusOf(refused)) }, asked, peer);
}

/** Of an address that this server does not have. */
export function noSuchResource(): Refused {
  return new Refused(404, "NotFound", "the server could not find the requested resource", {});
}
