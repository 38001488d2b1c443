/** What the catalogue says about one error. */
type GrpcName =
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

/**
 * No error: a command has looked, and found what a person should look at. Apart from those above, so that a script can tell it
 * from not having been able to look.
 */
export const findingExitCode = 4;

export interface ErrorEntry {
  readonly message: string;
  readonly advice: string;
  readonly http: number;
  readonly grpc: GrpcName;
  readonly exit: (typeof exitCodes)[keyof typeof exitCodes];
}

/** How the error is told over HTTP, over gRPC and to the supervisor; most end the process only for now. */
export function statuses(
  http: number,
  grpc: GrpcName,
  exit: ErrorEntry["exit"] = exitCodes.failure,
): Pick<ErrorEntry, "http" | "grpc" | "exit"> {
  return { http, grpc, exit };
}

export type Errors = Readonly<Record<`AKP_${string}`, ErrorEntry>>;
