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

  AKP_PROVIDER_HOST_MISSING: {
    message: "nothing says where tenants reach this provider",
    advice:
      "Write `host: https://provider.example.com:8443` into a provider.yaml and name that with --provider-config.",
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

  // Keys
  AKP_KEY_FILE_UNREADABLE: {
    message: "{path}, which should hold a secret, cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEY_FILE_MALFORMED: {
    message: "{path} holds no key: {reason}",
    advice:
      "Put into it a mnemonic, a private key of 64 hex digits, or what `provider-services keys export NAME` printed, and nothing else.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_MNEMONIC_WRONG: {
    message: "the mnemonic in {where} is wrong: {reason}",
    advice: "{hint}",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_KEY_PASSPHRASE_MISSING: {
    message: "{what} is encrypted, and there is no pass-phrase for it",
    advice:
      "Put the pass-phrase into a file and name that in AP_KEY_PASSPHRASE_FILE, or put it into AP_KEY_PASSPHRASE.",
    http: 400,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEY_PASSPHRASE_WRONG: {
    message: "the pass-phrase from {from} does not open {what}",
    advice: "Use the pass-phrase that was typed when the key was exported or its keyring was made.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_KEY_UNUSABLE: {
    message: "the key in {path} cannot sign here: {reason}",
    advice: "Name another key with --from or --key-file: one of the type secp256k1 whose private half is there.",
    http: 400,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEY_ADDRESS_DIFFERS: {
    message: "the key in {path} is that of {found}, not of {wanted}",
    advice:
      "Correct --from, or name the right key. A mnemonic has many accounts: --key-account, --key-index and --key-coin-type choose among them.",
    http: 400,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEYRING_BACKEND_UNSUPPORTED: {
    message: "a key in the keyring {backend} is out of reach for a provider, which runs without a desktop",
    advice:
      "Export it with `provider-services keys export NAME --keyring-backend {backend}` and name that file with --key-file, or import it into a keyring with --keyring-backend file or test.",
    http: 400,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEYRING_MISSING: {
    message: "the keyring {folder} cannot be read: {reason}",
    advice:
      "Set --keyring-dir to the folder that holds it, and --keyring-backend to the kind it is; or name a file with --key-file.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_KEYRING_ENTRY_DAMAGED: {
    message: "{path} is no sound entry of a keyring: {reason}",
    advice: "Restore it from a backup, or make the keyring again from the mnemonic.",
    http: 500,
    grpc: "DATA_LOSS",
    exit: settings,
  },
  AKP_KEY_UNKNOWN: {
    message: "the keyring {folder} has no key {key}; it has: {names}",
    advice: "Choose one of these with --from, or set --keyring-dir and --keyring-backend to the keyring you mean.",
    http: 400,
    grpc: "NOT_FOUND",
    exit: settings,
  },
  AKP_KEY_NOT_CHOSEN: {
    message: "which key of the keyring {folder} is the provider's was not said; it has: {names}",
    advice: "Choose one with --from.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },

  // Chain over RPC
  AKP_CHAIN_UNREACHABLE: {
    message: "the node {endpoint} cannot be reached: {reason}",
    advice: "Check that it runs and that --node is right. Name several nodes, and one takes over when another fails.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_CHAIN_NO_ENDPOINT: {
    message: "no node can answer {what}: {reasons}",
    advice: "Nothing is lost, it is tried again. Check the nodes of --node, or add another one.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_CHAIN_WRONG_ID: {
    message: "the node {endpoint} belongs to the chain {found}, not to {wanted}",
    advice: "Correct --node or --chain-id. This node is not used.",
    http: 503,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_CHAIN_ANSWER_MALFORMED: {
    message: "the node {endpoint} answered {method} with something else: {reason}",
    advice:
      "A proxy in between may be answering instead of the node. Ask it with `curl`, and name another node in --node.",
    http: 502,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_CHAIN_CALL_REFUSED: {
    message: "the node {endpoint} refused {method}: {reason}",
    advice: "The node may keep less history than is asked for, or be of another version. Name another one in --node.",
    http: 502,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_CHAIN_QUERY_REFUSED: {
    message: "the chain refused the query {path} ({codespace} {code}): {reason}",
    advice: "If this version of the chain is new, this program may be too old for it.",
    http: 502,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_CHAIN_LIST_ENDLESS: {
    message: "the list {path} of the node {endpoint} does not end: {reason}",
    advice: "The node has a fault; name another one in --node.",
    http: 502,
    grpc: "RESOURCE_EXHAUSTED",
    exit: failure,
  },
  AKP_CHAIN_UNTRUSTED: {
    message: "the certificate of the node {endpoint} was not accepted: {reason}",
    advice: "Give the bundle of the authority that signed it as the node's CA file. It is never accepted unchecked.",
    http: 502,
    grpc: "UNAUTHENTICATED",
    exit: settings,
  },
  AKP_CHAIN_TLS_FILE_UNREADABLE: {
    message: "{path}, needed to reach the node {endpoint}, cannot be used: {reason}",
    advice: "Check the path, that this user may read it, and that certificate and key belong together.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_CHAIN_EVENT_MALFORMED: {
    message: "an event {type} of block {height} cannot be read: {reason}",
    advice: "The state is read from the chain instead. This program may be too old for this chain.",
    http: 502,
    grpc: "DATA_LOSS",
    exit: failure,
  },
  AKP_CHAIN_GAP: {
    message: "no node has the blocks {from} to {to} any more",
    advice:
      "The state is read from the chain's lists instead. To keep every event, name a node that keeps more history.",
    http: 502,
    grpc: "DATA_LOSS",
    exit: failure,
  },

  // Outbox
  AKP_WALLET_SHORT: {
    message: "{address} cannot pay {fee}: {reason}",
    advice:
      "Send AKT to {address}, or check what its fee granter allows. What waits is sent as soon as the money is there.",
    http: 402,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_WALLET_UNKNOWN: {
    message: "the chain has never seen {address}, so it cannot pay for transactions",
    advice: "Send AKT to {address}, or name another key. What waits is sent as soon as the money is there.",
    http: 402,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_FEE_TOO_LOW: {
    message: "the node wants more than {fee} for a transaction: {reason}",
    advice: "Raise --gas-prices, or --fees if you set them, and start again. What waits is sent then.",
    http: 402,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_TX_REFUSED: {
    message: "the chain refused a transaction: {reason}",
    advice: "See the reason. What waits is tried again with a new transaction.",
    http: 502,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_TX_FAILED: {
    message: "the chain refused the transaction: {reason}",
    advice: "See the reason, correct what it names, and give the command again; nothing but the fee was spent.",
    http: 502,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_TX_LOST: {
    message: "the transaction {hash} was taken by a node and never came into a block",
    advice: "Its time has passed, so it never will. Give the command again.",
    http: 504,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_STAMPS_AHEAD: {
    message: "the time-out stamps of {address} on {chainId} lie further ahead than the chain takes",
    advice:
      "Nothing to do if it passes within minutes. Else the time of the chain went back: begin with another --data-dir.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_MESSAGE_UNKNOWN: {
    message: "{typeUrl} is no message that this program sends",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
    http: 500,
    grpc: "INTERNAL",
    exit: failure,
  },
  AKP_INTENT_UNKNOWN: {
    message: "there is no intent {id} in the journal",
    advice: "Intents are forgotten some weeks after they were settled. Look at the chain instead.",
    http: 404,
    grpc: "NOT_FOUND",
    exit: failure,
  },
  AKP_OUTBOX_FULL: {
    message: "{owed} intents wait to be sent already",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look at the log lines of the outbox for the reason.",
    http: 503,
    grpc: "RESOURCE_EXHAUSTED",
    exit: failure,
  },
  AKP_OUTBOX_OTHER_KEY: {
    message: "the journal holds the transaction {hash} of {found}, whose fate is unknown",
    advice:
      "Start once more with that key and chain until it is settled, or give this one its own --data-dir. Two keys never share a journal.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },

  // Embedded chain
  AKP_CHAIN_LISTEN_FAILED: {
    message: "the embedded node cannot listen on {address}: {reason}",
    advice: "Stop what uses that port, or choose another one; 0 takes any that is free.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_CHAIN_FILE_UNUSABLE: {
    message: "the embedded chain cannot be kept in {path}: {reason}",
    advice: "Check that the folder exists and that this user may write there.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: storage,
  },
  AKP_CHAIN_FILE_DAMAGED: {
    message: "{path} is not the file of an embedded chain any more: {reason}",
    advice: "Bring it back from a copy, or move it away to begin a new chain.",
    http: 500,
    grpc: "DATA_LOSS",
    exit: storage,
  },
  AKP_CHAIN_FILE_OTHER: {
    message: "{path} holds a chain that began otherwise: {difference} is {found} there and {wanted} here",
    advice: "Name another file, or move this one away to begin a new chain.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: settings,
  },
  AKP_CHAIN_REPLAY_DIVERGED: {
    message: "block {height} of {path} does not lead where it led when it was made: {reason}",
    advice: "Run the version of this program that wrote the file, or move the file away to begin a new chain.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
    exit: storage,
  },

  // Commands of a tenant
  AKP_SDL_REFUSED: {
    message: "{path} is not a deployment that can be posted:\n{list}",
    advice: "Correct it and give the command again.",
    http: 400,
    grpc: "INVALID_ARGUMENT",
    exit: settings,
  },
  AKP_NO_OPEN_BID: {
    message: "no provider has an open bid on {order}",
    advice: "Wait for one (`akash-provider events` shows them), or name another order with --dseq, --gseq and --oseq.",
    http: 404,
    grpc: "NOT_FOUND",
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
