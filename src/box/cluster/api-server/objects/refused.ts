/** A refusal as the API writes it: what was asked cannot be done, and why. */
export interface RefusalDetails {
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
