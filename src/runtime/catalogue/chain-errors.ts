import { type Errors, entry, settingsEntry, storageEntry } from "./entry.ts";

export const keyErrors = {
  AKP_KEY_FILE_UNREADABLE: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "{path}, which should hold a secret, cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
  }),
  AKP_KEY_FILE_MALFORMED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{path} holds no key: {reason}",
    advice:
      "Put into it a mnemonic, a private key of 64 hex digits, or what `provider-services keys export NAME` printed, and nothing else.",
  }),
  AKP_MNEMONIC_WRONG: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "the mnemonic in {where} is wrong: {reason}",
    advice: "{hint}",
  }),
  AKP_KEY_PASSPHRASE_MISSING: settingsEntry(400, "FAILED_PRECONDITION", {
    message: "{what} is encrypted, and there is no pass-phrase for it",
    advice:
      "Put the pass-phrase into a file and name that in AP_KEY_PASSPHRASE_FILE, or put it into AP_KEY_PASSPHRASE.",
  }),
  AKP_KEY_PASSPHRASE_WRONG: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "the pass-phrase from {from} does not open {what}",
    advice: "Use the pass-phrase that was typed when the key was exported or its keyring was made.",
  }),
  AKP_KEY_UNUSABLE: settingsEntry(400, "FAILED_PRECONDITION", {
    message: "the key in {path} cannot sign here: {reason}",
    advice: "Name another key with --from or --key-file: one of the type secp256k1 whose private half is there.",
  }),
  AKP_KEY_ADDRESS_DIFFERS: settingsEntry(400, "FAILED_PRECONDITION", {
    message: "the key in {path} is that of {found}, not of {wanted}",
    advice:
      "Correct --from, or name the right key. A mnemonic has many accounts: --key-account, --key-index and --key-coin-type choose among them.",
  }),
  AKP_KEYRING_BACKEND_UNSUPPORTED: settingsEntry(400, "FAILED_PRECONDITION", {
    message: "a key in the keyring {backend} is out of reach for a provider, which runs without a desktop",
    advice:
      "Export it with `provider-services keys export NAME --keyring-backend {backend}` and name that file with --key-file, or import it into a keyring with --keyring-backend file or test.",
  }),
  AKP_KEYRING_MISSING: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "the keyring {folder} cannot be read: {reason}",
    advice:
      "Set --keyring-dir to the folder that holds it, and --keyring-backend to the kind it is; or name a file with --key-file.",
  }),
  AKP_KEYRING_ENTRY_DAMAGED: settingsEntry(500, "DATA_LOSS", {
    message: "{path} is no sound entry of a keyring: {reason}",
    advice: "Restore it from a backup, or make the keyring again from the mnemonic.",
  }),
  AKP_KEY_UNKNOWN: settingsEntry(400, "NOT_FOUND", {
    message: "the keyring {folder} has no key {key}; it has: {names}",
    advice: "Choose one of these with --from, or set --keyring-dir and --keyring-backend to the keyring you mean.",
  }),
  AKP_KEY_NOT_CHOSEN: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "which key of the keyring {folder} is the provider's was not said; it has: {names}",
    advice: "Choose one with --from.",
  }),
} satisfies Errors;

export const chainErrors = {
  AKP_CHAIN_UNREACHABLE: entry(503, "UNAVAILABLE", {
    message: "the node {node} cannot be reached: {reason}",
    advice: "Check that it runs and that --node is right. Name several nodes, and one takes over when another fails.",
  }),
  AKP_CHAIN_NO_ENDPOINT: entry(503, "UNAVAILABLE", {
    message: "no node can answer {what}: {reasons}",
    advice: "Nothing is lost, it is tried again. Check the nodes of --node, or add another one.",
  }),
  AKP_CHAIN_SILENT: entry(503, "UNAVAILABLE", {
    message: "the chain cannot be asked for {what} just now: {reason}",
    advice: "Try again in a moment. Who has a lease here is known already and does not depend on this.",
  }),
  AKP_CHAIN_NOT_YET: entry(503, "UNAVAILABLE", {
    message: "the node {node} is not there yet: {reason}",
    advice:
      "It is asked again in a moment. If this lasts, the node is overloaded or stuck: name another one in --node.",
  }),
  AKP_CHAIN_CURSOR_AHEAD: entry(503, "FAILED_PRECONDITION", {
    message: "the journal has followed {chainId} up to block {cursor}, and its nodes are only at {head}",
    advice:
      "Nodes that were restored catch up by themselves. If the chain was begun anew under its old name, move the data folder away: it belongs to the chain before.",
  }),
  AKP_CHAIN_CLOCK_SKEWED: entry(500, "FAILED_PRECONDITION", {
    message: "the local clock is {seconds} s {direction} the time of new blocks",
    advice: "Set this machine's clock, for instance with NTP. If it is right, the nodes lag: name others in --node.",
  }),
  AKP_CHAIN_WRONG_ID: settingsEntry(503, "FAILED_PRECONDITION", {
    message: "the node {node} belongs to the chain {found}, not to {wanted}",
    advice: "Correct --node or --chain-id. This node is not used.",
  }),
  AKP_CHAIN_ANSWER_MALFORMED: entry(502, "UNAVAILABLE", {
    message: "the node {node} answered {method} with something else: {reason}",
    advice:
      "A proxy in between may be answering instead of the node. Ask it with `curl`, and name another node in --node.",
  }),
  AKP_CHAIN_CALL_REFUSED: entry(502, "FAILED_PRECONDITION", {
    message: "the node {node} refused {method}: {reason}",
    advice:
      "The node may limit how often it is called, keep less history than is asked for, or be of another version. Name another one in --node.",
  }),
  AKP_CHAIN_QUERY_REFUSED: entry(502, "FAILED_PRECONDITION", {
    message: "the chain refused the query {path} ({codespace} {code}): {reason}",
    advice: "If this version of the chain is new, this program may be too old for it.",
  }),
  AKP_CHAIN_NO_ORACLE_PRICE: entry(503, "UNAVAILABLE", {
    message: "the chain's oracle has no price of {denom}: {reason}",
    advice: "It is asked again. If this lasts, set token-price-file or token-price-url instead of token-price-oracle.",
  }),
  AKP_CHAIN_LIST_ENDLESS: entry(502, "RESOURCE_EXHAUSTED", {
    message: "the list {path} of the node {node} does not end: {reason}",
    advice: "The node has a fault; name another one in --node.",
  }),
  AKP_CHAIN_UNTRUSTED: settingsEntry(502, "UNAUTHENTICATED", {
    message: "the certificate of the node {node} was not accepted: {reason}",
    advice: "Give the bundle of the authority that signed it as the node's CA file. It is never accepted unchecked.",
  }),
  AKP_CHAIN_TLS_FILE_UNREADABLE: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "{path}, needed to reach the node {node}, cannot be used: {reason}",
    advice: "Check the path, that this user may read it, and that certificate and key belong together.",
  }),
  AKP_CHAIN_EVENT_MALFORMED: entry(502, "DATA_LOSS", {
    message: "an event {type} of block {height} cannot be read: {reason}",
    advice: "The state is read from the chain instead. This program may be too old for this chain.",
  }),
  AKP_CHAIN_GAP: entry(502, "DATA_LOSS", {
    message: "no node gives the blocks {from} to {to}: {reason}",
    advice:
      "The state is read from the chain's lists instead. To keep every event, name a node that keeps more history.",
  }),
} satisfies Errors;

export const transactionErrors = {
  AKP_WALLET_SHORT: entry(402, "FAILED_PRECONDITION", {
    message: "{address} cannot pay {what}: {reason}",
    advice:
      "Send AKT to {address}, or check what its fee granter allows. What waits is sent as soon as the money is there.",
  }),
  AKP_WALLET_UNKNOWN: entry(402, "FAILED_PRECONDITION", {
    message: "the chain has never seen {address}, so it cannot pay for transactions",
    advice: "Send AKT to {address}, or name another key. What waits is sent as soon as the money is there.",
  }),
  AKP_FEE_TOO_LOW: entry(402, "FAILED_PRECONDITION", {
    message: "the node wants more than {fee} for a transaction: {reason}",
    advice: "Raise --gas-prices, or --fees if you set them, and start again. What waits is sent then.",
  }),
  AKP_TX_SWALLOWED: entry(503, "UNAVAILABLE", {
    message: "nodes take transactions that never come into a block: {reason}",
    advice:
      "Raise --gas-prices: validators may want more than your node does. If that does not help, the node hands nothing on: name others with --node. What waits is tried again, one transaction at a time.",
  }),
  AKP_TX_FAILED: entry(502, "FAILED_PRECONDITION", {
    message: "the chain refused the transaction: {reason}",
    advice:
      "See the reason and correct what it names. What the provider sends is tried again by itself; a command is given again, and nothing but the fee was spent.",
  }),
  AKP_TX_LOST: entry(504, "UNAVAILABLE", {
    message: "the transaction {hash} was taken by a node and never came into a block",
    advice: "Its time has passed, so it never will. Give the command again.",
  }),
  AKP_TX_UNSETTLED: entry(504, "UNAVAILABLE", {
    message: "the transaction {hash} was sent, and no node says what became of it: {reason}",
    advice: "It may have been done. Ask a node for this hash before you give the command again.",
  }),
  AKP_TX_UNPROVEN: entry(503, "UNAVAILABLE", {
    message: "no node can know whether a block from {height} on holds the transaction {hash}: {reasons}",
    advice:
      "Add a node to --node that has the blocks from {height} on and indexes transactions. Until then what it carries waits, so that nothing is done twice.",
  }),
  AKP_STAMPS_AHEAD: entry(503, "UNAVAILABLE", {
    message: "the time-out stamps of {address} on {chainId} lie further ahead than the chain takes",
    advice:
      "Nothing to do if it passes within minutes. Else the time of the chain went back: begin with another --data-dir.",
  }),
  AKP_MESSAGE_UNKNOWN: entry(500, "INTERNAL", {
    message: "{typeUrl} is no message that this program sends",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
  }),
  AKP_INTENT_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "there is no intent {id} in the journal",
    advice: "Intents are forgotten some weeks after they were settled. Look at the chain instead.",
  }),
  AKP_OUTBOX_FULL: entry(503, "RESOURCE_EXHAUSTED", {
    message: "{owed} intents wait to be sent already",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look at the log lines of the outbox for the reason.",
  }),
  AKP_OUTBOX_OTHER_KEY: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "the journal holds {what} of {found}, which is not settled",
    advice:
      "Start once more with that key and chain until it is settled, or give this one its own --data-dir. Two keys never share a journal.",
  }),
} satisfies Errors;

export const boxErrors = {
  AKP_CHAIN_FILE_UNUSABLE: storageEntry(500, "FAILED_PRECONDITION", {
    message: "the embedded chain cannot be kept in {path}: {reason}",
    advice: "Check that the folder exists and that this user may write there.",
  }),
  AKP_CHAIN_FILE_DAMAGED: storageEntry(500, "DATA_LOSS", {
    message: "{path} is not the file of an embedded chain any more: {reason}",
    advice: "Bring it back from a copy, or move it away to begin a new chain.",
  }),
  AKP_CHAIN_FILE_OTHER: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "{path} holds a chain that began otherwise: {difference} is {found} there and {wanted} here",
    advice: "Name another file, or move this one away to begin a new chain.",
  }),
  AKP_CHAIN_REPLAY_DIVERGED: storageEntry(500, "FAILED_PRECONDITION", {
    message: "block {height} of {path} does not lead where it led when it was made: {reason}",
    advice: "Run the version of this program that wrote the file, or move the file away to begin a new chain.",
  }),
} satisfies Errors;
