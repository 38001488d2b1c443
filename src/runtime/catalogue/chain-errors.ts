import { type Errors, exitCodes } from "./entry.ts";

const { failure, settings } = exitCodes;

export const chainErrors = {
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
  AKP_CHAIN_NOT_YET: {
    message: "the node {endpoint} is not there yet: {reason}",
    advice:
      "It is asked again in a moment. If this lasts, the node is overloaded or stuck: name another one in --node.",
    http: 503,
    grpc: "UNAVAILABLE",
    exit: failure,
  },
  AKP_CHAIN_CURSOR_AHEAD: {
    message: "the journal has followed {chainId} up to block {cursor}, and its nodes are only at {head}",
    advice:
      "Nodes that were restored catch up by themselves. If the chain was begun anew under its old name, move the data folder away: it belongs to the chain before.",
    http: 503,
    grpc: "FAILED_PRECONDITION",
    exit: failure,
  },
  AKP_CHAIN_CLOCK_SKEWED: {
    message: "the local clock is {seconds} s {direction} the time of new blocks",
    advice: "Set this machine's clock, for instance with NTP. If it is right, the nodes lag: name others in --node.",
    http: 500,
    grpc: "FAILED_PRECONDITION",
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
    message: "no node gives the blocks {from} to {to}: {reason}",
    advice:
      "The state is read from the chain's lists instead. To keep every event, name a node that keeps more history.",
    http: 502,
    grpc: "DATA_LOSS",
    exit: failure,
  },
} as const satisfies Errors;
