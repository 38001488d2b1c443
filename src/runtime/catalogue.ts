/**
 * Every error the program can tell a person or a client about: docs/errors.md is made from this table. A message says
 * what happened and to what; the advice says what to do next. Neither ever holds a secret.
 */
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

const { failure, settings, storage } = exitCodes;

export const catalogue = {
  AKP_INTERNAL: {
    message: "unexpected error: {reason}",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
    http: 500,
    grpc: "INTERNAL",
    exit: failure,
  },

  // Settings
  AKP_SETTING_UNKNOWN: {
    message: "{where}: there is no setting {name}",
    advice: "{hint}",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_SETTING_INVALID: {
    message: "{where}: {name} cannot be {value}: {reason}",
    advice: "{hint}",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_SETTINGS_REFUSED: {
    message: "{count} settings are wrong:\n{list}",
    advice: "Correct them and start again. `akash-provider config print` shows every setting and where it came from.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_SETTINGS_FILE_UNREADABLE: {
    message: "{where}: {path} cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_SETTINGS_FILE_MALFORMED: {
    message: "{path}:{line}:{column}: this is not valid YAML: {reason}",
    advice: "Correct that line and start again.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },

  // Data directory and journal
  AKP_DATA_DIR_UNWRITABLE: {
    message: "the data directory {path} cannot be written: {reason}",
    advice: "Make {path} writable for this user, or choose another one with --data-dir.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: storage,
  },
  AKP_DATA_DIR_IN_USE: {
    message: "another akash-provider already uses the data directory {path} ({holder})",
    advice:
      "Stop that one first, or give this one its own with --data-dir. Two providers never share a journal or a key.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: storage,
  },
  AKP_DISK_FULL: {
    message: "the disk that holds {path} is full",
    advice: "Free some room and start again; everything that was acknowledged is safe in the journal.",
    http: 507,
    grpc: "RESOURCE_EXHAUSTED",
    exit: storage,
  },
  AKP_JOURNAL_TOO_NEW: {
    message:
      "the journal {path} was written by a newer version of this program (schema {found}, this one knows {known})",
    advice: "Run that newer version, or move the file away to begin a new journal from chain and cluster.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: storage,
  },
  AKP_JOURNAL_DAMAGED: {
    message: "the journal {path} was damaged ({reason}) and was set aside as {kept}",
    advice:
      "Nothing to do: a new journal is built from chain and cluster. Keep {kept} if you want to look into it; it may hold tenants' secrets.",
    http: 500,
    grpc: "DATA_LOSS",
    exit: storage,
  },
  AKP_JOURNAL_CORRUPT: {
    message: "the journal {path} can no longer be read as it was written: {reason}",
    advice: "The program stops. The next start sets the file aside and builds a new one from chain and cluster.",
    http: 500,
    grpc: "DATA_LOSS",
    exit: failure,
  },
  AKP_JOURNAL_BUSY: {
    message: "the journal {path} took no more work just now: {reason}",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look for another program that has {path} open, or for a slow disk.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_JOURNAL_CLOSED: {
    message: "the journal is closed: {reason}",
    advice: "The program is stopping; the same work is taken up again at the next start.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },

  // Runtime
  AKP_SERVICE_DIED: {
    message: "the service {service} ended by itself: {reason}",
    advice:
      "The program stops so that its supervisor can start it afresh. Look at the log lines of {service} just before.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_SERVICE_START_FAILED: {
    message: "the service {service} could not start: {reason}",
    advice: "See the reason above; nothing was left running.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_SHUTDOWN_LATE: {
    message: "not stopped within {limitMs} ms: {services}",
    advice: "Nothing is lost, the journal has it all. Please report which service it was.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },

  AKP_LISTEN_FAILED: {
    message: "{what} cannot listen on {address}: {reason}",
    advice: "Stop what uses that address, or choose another one with {setting}.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },

  // Bus
  AKP_BUS_UNREACHABLE: {
    message: "the Redis bus at {address} cannot be reached: {reason}",
    advice:
      "Nothing is lost, messages are only hints. Start Redis or correct --redis-url; the connection is made as soon as it answers.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_BUS_MESSAGE_TOO_LARGE: {
    message: "a message of {bytes} bytes on {topic} was refused: the bus takes {limit}",
    advice: "Publish a summary instead, or only what changed.",
    http: 413,
    grpc: "RESOURCE_EXHAUSTED",
    exit: failure,
  },
  AKP_BUS_MESSAGE_MALFORMED: {
    message: "a message on {topic} was ignored: {reason}",
    advice: "Something else writes to this Redis under our keys. Give the provider a database of its own.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: failure,
  },

  // Market
  AKP_VALUE_MALFORMED: {
    message: "{value} is not {expected}: {reason}",
    advice: "Write it like {example}.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_VALUE_OUT_OF_RANGE: {
    message: "{value} is out of range for {expected}",
    advice: "It must lie between {least} and {most}.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_COIN_DENOMS_DIFFER: {
    message: "{left} and {right} are different tokens and cannot be added or subtracted",
    advice: "Use the same denom for both: a price, its limit and its deposit are each settled in one token.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_AMOUNT_INSUFFICIENT: {
    message: "{what}: {wanted} is wanted, {available} is there",
    advice: "Ask for less, or come back when more is free.",
    http: 409,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
} as const satisfies Record<`AKP_${string}`, ErrorEntry>;

export type ErrorCode = keyof typeof catalogue;
