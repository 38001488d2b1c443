import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const gatewayErrors = {
  AKP_CERTIFICATE_FILE_UNUSABLE: {
    message: "the certificate in {path} cannot be used: {reason}",
    advice:
      "The file holds a certificate of the account and its key, encrypted for that account, as the network's tools write it. Put the right one there, or take it away: another certificate is made.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_ACME_UNREACHABLE: {
    message: "the certificate authority cannot be reached at {url}: {reason}",
    advice:
      "Look at --cert-issuer-ca-dir-url and at the way out of this machine. An authority of your own is believed when NODE_EXTRA_CA_CERTS names its certificate. It is tried again by itself.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_ACME_REFUSED: {
    message: "the certificate authority refused at {url}: {kind}: {reason}",
    advice:
      "rateLimited goes by itself. externalAccountRequired wants --cert-issuer-kid and AP_CERT_ISSUER_HMAC; unauthorized, an account that is in use. It is tried again by itself.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_ACME_CHALLENGE_FAILED: {
    message: "the certificate authority did not find our answer to {kind} at {host}: {reason}",
    advice:
      "The name must lead to this machine: for http-01 its port 80, for tls-alpn-01 its port 443, each led on to our port {port} as it is. It is tried again by itself.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_ACME_NO_CHALLENGE: {
    message: "the certificate authority offers {offered} for {host}, and we answer {answered}",
    advice: "Set --cert-issuer-http-challenge-port or --cert-issuer-tls-challenge-port.",
    ...statuses(503, "FAILED_PRECONDITION", settings),
  },
  AKP_ACME_ORDER_OVER: {
    message: "the order at the certificate authority came to nothing: {reason}",
    advice: "Another one is made by itself.",
    ...statuses(503, "ABORTED"),
  },
  AKP_ACME_ORDER_LATE: {
    message: "the certificate authority has not finished our order within {minutes} minutes",
    advice: "It is asked again by itself, for the same order.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_ACME_CERTIFICATE_UNUSABLE: {
    message: "the certificate authority issued what cannot be served: {reason}",
    advice: "Compare this machine's clock, and ask the authority's operator. It is tried again by itself.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_GATEWAY_TOKEN_UNUSABLE: {
    message: "the metrics token file {path} does not hold a token of at least {leastChars} characters in one line",
    advice:
      "Put one there, like the output of `openssl rand -hex 32`. Until then all metrics but four are closed on the gateway.",
    ...statuses(500, "FAILED_PRECONDITION"),
  },
  AKP_GATEWAY_NO_CLUSTER: {
    message: "this provider has no cluster",
    advice: "It sells nothing. Its operator turns that on with --cluster-k8s.",
    ...statuses(503, "FAILED_PRECONDITION"),
  },
  AKP_GATEWAY_BODY_TOO_LARGE: {
    message: "http: request body too large",
    advice: "What is sent to this route has at most {mostBytes} bytes.",
    ...statuses(413, "RESOURCE_EXHAUSTED"),
  },
  AKP_GATEWAY_BODIES_TOO_MANY: {
    message: "unanswered requests hold too many bytes, of this address or of all",
    advice: "Send it again when others have been answered.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
  },
  AKP_GATEWAY_CLIENT_GONE: {
    message: "the client went away before all of its request had come",
    advice: "Nothing: it will ask again if it wants to.",
    ...statuses(400, "ABORTED"),
  },
  AKP_SHELL_NOT_RUNNING: {
    message: "service with that name is not running",
    advice: "Ask for the status of the lease: it says what keeps the service from running.",
    ...statuses(404, "UNAVAILABLE"),
  },
  AKP_SHELL_NO_POD: {
    message: "pod index out of range: valid range is [0, {last}]",
    advice: "Replicas are counted from 0, in the order of the names of their pods.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_SHELL_NO_SUCH_COMMAND: {
    message: "command could not be executed because it does not exist",
    advice: "Name a program that is in the service's image; many images have /bin/sh, some have none at all.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_SHELL_NOT_STARTED: {
    message: "command execution failed",
    advice: "What is named must be a program that may be executed, not a folder or a text.",
    ...statuses(500, "FAILED_PRECONDITION"),
  },
  AKP_STREAMS_TOO_MANY: {
    message: "there are too many open streams {whose}",
    advice: "Close some of the logs, events and shells that are open, then try again.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
  },
  AKP_STREAM_CREDENTIALS_OVER: {
    message: "the credentials of this stream are no longer good: {reason}",
    advice: "Ask again with a new token, or with a certificate that is on the chain.",
    ...statuses(401, "UNAUTHENTICATED"),
  },
  AKP_STREAM_LEASE_CLOSED: {
    message: "the lease is closed",
    advice: "Nothing runs for it any more.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_STREAM_STOPPING: {
    message: "the provider stops",
    advice: "Ask again in a moment: it is being restarted, most often.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_STREAM_TOO_SLOW: {
    message: "the reader of a stream took too little of it for too long",
    advice: "Read faster, or ask for less of it with `tail` or `service`.",
    ...statuses(408, "RESOURCE_EXHAUSTED"),
  },
  AKP_STREAM_INPUT_EXCESS: {
    message: "the client of a stream sent too many {what}",
    advice: "Send larger frames, each in one piece, and no more than the command reads.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
  },
  AKP_STREAM_CLIENT_GONE: {
    message: "the reader of a stream went away",
    advice: "Nothing: it will ask again if it wants to.",
    ...statuses(400, "ABORTED"),
  },
} satisfies Errors;
