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

/** No error: the command has looked and found something. Scripts can tell it from not having been able to look. */
export const findingExitCode = 4;

interface Texts {
  readonly message: string;
  readonly advice: string;
}

export interface ErrorEntry extends Texts {
  readonly http: number;
  readonly grpc: GrpcName;
  readonly exit: (typeof exitCodes)[keyof typeof exitCodes];
}

/** One error: how HTTP and gRPC report it, its text, and what to do next. It ends the process only for now. */
export function entry<const Text extends Texts>(http: number, grpc: GrpcName, text: Text) {
  return { ...text, http, grpc, exit: exitCodes.failure };
}

/** The same for what only other settings help against. */
export function settingsEntry<const Text extends Texts>(http: number, grpc: GrpcName, text: Text) {
  return { ...text, http, grpc, exit: exitCodes.settings };
}

/** The same for what makes the data directory unusable. */
export function storageEntry<const Text extends Texts>(http: number, grpc: GrpcName, text: Text) {
  return { ...text, http, grpc, exit: exitCodes.storage };
}

export type Errors = Readonly<Record<`AKP_${string}`, ErrorEntry>>;
