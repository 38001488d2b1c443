import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const gatewayErrors = {
  AKP_CERTIFICATE_FILE_UNUSABLE: {
    message: "the certificate in {path} cannot be used: {reason}",
    advice:
      "The file holds a certificate of the account and its key, encrypted for that account, as the network's tools write it. Put the right one there, or take it away: another certificate is made.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_GATEWAY_BODY_TOO_LARGE: {
    message: "http: request body too large",
    advice: "What is sent to this route has at most {mostBytes} bytes.",
    ...statuses(413, "RESOURCE_EXHAUSTED"),
  },
  AKP_GATEWAY_CLIENT_GONE: {
    message: "the client went away before all of its request had come",
    advice: "Nothing: it will ask again if it wants to.",
    ...statuses(400, "ABORTED"),
  },
} satisfies Errors;
