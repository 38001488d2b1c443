/** A failure as the API server reports it, with the reason. */
import { apiError, type Operation, type Peer } from "../../../../kube/client/api-errors.ts";

interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly group?: string;
  readonly causes?: readonly { readonly reason: string; readonly message: string; readonly field?: string }[];
  readonly retryAfterSeconds?: number;
}

export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: number;
  /** One word for programs, as "AlreadyExists". */
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(status: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}

/** The server's name in messages. */
export const peer: Peer = { server: new URL("http://simulated"), path: "the simulated cluster" };

/** As it goes over the wire. */
export function statusOf({ status: code, reason, message, details }: StatusError): object {
  const said = { message, ...(reason === "" ? {} : { reason }), ...(details === undefined ? {} : { details }), code };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", ...said };
}

/** As a client throws it. */
export function clientError(error: StatusError, operation: Operation): Error {
  return apiError({ status: error.status, body: JSON.stringify(statusOf(error)) }, operation, peer);
}

/** Of an address that this server does not have. */
export function noSuchResource(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}
