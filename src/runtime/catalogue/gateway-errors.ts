import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const gatewayErrors = {
  AKP_CERTIFICATE_FILE_UNUSABLE: {
    message: "the certificate in {path} cannot be used: {reason}",
    advice:
      "The file holds a certificate of the account and its key, encrypted for that account, as the network's tools write it. Put the right one there, or take it away: another certificate is made.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
} satisfies Errors;
