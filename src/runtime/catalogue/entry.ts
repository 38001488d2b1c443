/** What the catalogue says about one error. */
export type GrpcStatus =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** What the process says to its supervisor when this error ends it. */
export const exitCodes = {
  /** Something failed that may go away: start again. */
  failure: 1,
  /** The settings are wrong: starting again will not help. */
  settings: 2,
  /** The data directory cannot be used: another instance, no permission, no room. */
  storage: 3,
} as const;

export interface ErrorEntry {
  readonly message: string;
  readonly advice: string;
  readonly http: number;
  readonly grpc: GrpcStatus;
  readonly exit: (typeof exitCodes)[keyof typeof exitCodes];
}

export type Errors = Readonly<Record<`AKP_${string}`, ErrorEntry>>;
