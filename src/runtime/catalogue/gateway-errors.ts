import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const gatewayErrors = {
  AKP_CERTIFICATE_FILE_UNUSABLE: {
    message: "the certificate in {path} cannot be used: {reason}",
    advice:
      "The file holds a certificate of the account and its key, encrypted for that account, as the network's tools write it. Put the right one there, or take it away: another certificate is made.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
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
    message: "too much is being sent from this address at once",
    advice: "Send it again when what is on its way has come.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
  },
  AKP_GATEWAY_CLIENT_GONE: {
    message: "the client went away before all of its request had come",
    advice: "Nothing: it will ask again if it wants to.",
    ...statuses(400, "ABORTED"),
  },
} satisfies Errors;
