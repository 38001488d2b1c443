import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const transactionErrors = {
  AKP_WALLET_SHORT: {
    message: "{address} cannot pay {what}: {reason}",
    advice:
      "Send AKT to {address}, or check what its fee granter allows. What waits is sent as soon as the money is there.",
    ...statuses(402, "FAILED_PRECONDITION"),
  },
  AKP_WALLET_UNKNOWN: {
    message: "the chain has never seen {address}, so it cannot pay for transactions",
    advice: "Send AKT to {address}, or name another key. What waits is sent as soon as the money is there.",
    ...statuses(402, "FAILED_PRECONDITION"),
  },
  AKP_FEE_TOO_LOW: {
    message: "the node wants more than {fee} for a transaction: {reason}",
    advice: "Raise --gas-prices, or --fees if you set them, and start again. What waits is sent then.",
    ...statuses(402, "FAILED_PRECONDITION"),
  },
  AKP_TX_REFUSED: {
    message: "the chain refused a transaction: {reason}",
    advice: "See the reason. What waits is tried again with a new transaction.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_TX_SWALLOWED: {
    message: "nodes take transactions that never come into a block: {reason}",
    advice:
      "Raise --gas-prices: validators may want more than your node does. If that does not help, the node hands nothing on: name others with --node. What waits is tried again, one transaction at a time.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_TX_FAILED: {
    message: "the chain refused the transaction: {reason}",
    advice: "See the reason, correct what it names, and give the command again; nothing but the fee was spent.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_TX_LOST: {
    message: "the transaction {hash} was taken by a node and never came into a block",
    advice: "Its time has passed, so it never will. Give the command again.",
    ...statuses(504, "UNAVAILABLE"),
  },
  AKP_TX_UNSETTLED: {
    message: "the transaction {hash} was sent, and no node says what became of it: {reason}",
    advice: "It may have been done. Ask a node for this hash before you give the command again.",
    ...statuses(504, "UNAVAILABLE"),
  },
  AKP_TX_UNPROVEN: {
    message: "no node can know whether a block from {height} on holds the transaction {hash}: {reasons}",
    advice:
      "Add a node to --node that has the blocks from {height} on and indexes transactions. Until then what it carries waits, so that nothing is done twice.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_STAMPS_AHEAD: {
    message: "the time-out stamps of {address} on {chainId} lie further ahead than the chain takes",
    advice:
      "Nothing to do if it passes within minutes. Else the time of the chain went back: begin with another --data-dir.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_MESSAGE_UNKNOWN: {
    message: "{typeUrl} is no message that this program sends",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
    ...statuses(500, "INTERNAL"),
  },
  AKP_INTENT_UNKNOWN: {
    message: "there is no intent {id} in the journal",
    advice: "Intents are forgotten some weeks after they were settled. Look at the chain instead.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_OUTBOX_FULL: {
    message: "{owed} intents wait to be sent already",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look at the log lines of the outbox for the reason.",
    ...statuses(503, "RESOURCE_EXHAUSTED"),
  },
  AKP_OUTBOX_OTHER_KEY: {
    message: "the journal holds {what} of {found}, which is not settled",
    advice:
      "Start once more with that key and chain until it is settled, or give this one its own --data-dir. Two keys never share a journal.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
} as const satisfies Errors;
