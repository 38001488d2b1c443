import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const chainErrors = {
  AKP_CHAIN_UNREACHABLE: {
    message: "the node {node} cannot be reached: {reason}",
    advice: "Check that it runs and that --node is right. Name several nodes, and one takes over when another fails.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CHAIN_NO_ENDPOINT: {
    message: "no node can answer {what}: {reasons}",
    advice: "Nothing is lost, it is tried again. Check the nodes of --node, or add another one.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CHAIN_SILENT: {
    message: "the chain cannot be asked for {what} just now: {reason}",
    advice: "Try again in a moment. Who has a lease here is known already and does not depend on this.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CHAIN_NOT_YET: {
    message: "the node {node} is not there yet: {reason}",
    advice:
      "It is asked again in a moment. If this lasts, the node is overloaded or stuck: name another one in --node.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CHAIN_CURSOR_AHEAD: {
    message: "the journal has followed {chainId} up to block {cursor}, and its nodes are only at {head}",
    advice:
      "Nodes that were restored catch up by themselves. If the chain was begun anew under its old name, move the data folder away: it belongs to the chain before.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_CHAIN_CLOCK_SKEWED: {
    message: "the local clock is {seconds} s {direction} the time of new blocks",
    advice: "Set this machine's clock, for instance with NTP. If it is right, the nodes lag: name others in --node.",
    ...statuses(500, "FAILED_PRECONDITION"),
  },
  AKP_CHAIN_WRONG_ID: {
    message: "the node {node} belongs to the chain {found}, not to {wanted}",
    advice: "Correct --node or --chain-id. This node is not used.",
    ...statuses(503, "FAILED_PRECONDITION", settings),
  },
  AKP_CHAIN_ANSWER_MALFORMED: {
    message: "the node {node} answered {method} with something else: {reason}",
    advice:
      "A proxy in between may be answering instead of the node. Ask it with `curl`, and name another node in --node.",
    ...statuses(502, "UNAVAILABLE"),
  },
  AKP_CHAIN_CALL_REFUSED: {
    message: "the node {node} refused {method}: {reason}",
    advice:
      "The node may limit how often it is called, keep less history than is asked for, or be of another version. Name another one in --node.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_CHAIN_QUERY_REFUSED: {
    message: "the chain refused the query {path} ({codespace} {code}): {reason}",
    advice: "If this version of the chain is new, this program may be too old for it.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_CHAIN_NO_ORACLE_PRICE: {
    message: "the chain's oracle has no price of {denom}: {reason}",
    advice: "It is asked again. If this lasts, set token-price-file or token-price-url instead of token-price-oracle.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CHAIN_LIST_ENDLESS: {
    message: "the list {path} of the node {node} does not end: {reason}",
    advice: "The node has a fault; name another one in --node.",
    ...statuses(502, "RESOURCE_EXHAUSTED"),
  },
  AKP_CHAIN_UNTRUSTED: {
    message: "the certificate of the node {node} was not accepted: {reason}",
    advice: "Give the bundle of the authority that signed it as the node's CA file. It is never accepted unchecked.",
    ...statuses(502, "UNAUTHENTICATED", settings),
  },
  AKP_CHAIN_TLS_FILE_UNREADABLE: {
    message: "{path}, needed to reach the node {node}, cannot be used: {reason}",
    advice: "Check the path, that this user may read it, and that certificate and key belong together.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_CHAIN_EVENT_MALFORMED: {
    message: "an event {type} of block {height} cannot be read: {reason}",
    advice: "The state is read from the chain instead. This program may be too old for this chain.",
    ...statuses(502, "DATA_LOSS"),
  },
  AKP_CHAIN_GAP: {
    message: "no node gives the blocks {from} to {to}: {reason}",
    advice:
      "The state is read from the chain's lists instead. To keep every event, name a node that keeps more history.",
    ...statuses(502, "DATA_LOSS"),
  },
} as const satisfies Errors;
