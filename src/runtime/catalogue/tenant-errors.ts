import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const tenantErrors = {
  AKP_SDL_REFUSED: {
    message: "{path} is not a deployment that can be posted:\n{list}",
    advice: "Correct it and give the command again.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_NO_OPEN_BID: {
    message: "no provider has an open bid on {order}",
    advice: "Wait for one (`akash-provider events` shows them), or name another order with --dseq, --gseq and --oseq.",
    ...statuses(404, "NOT_FOUND"),
  },
  // Tenants' tools look for these words.
  AKP_HOSTNAME_NOT_ALLOWED: {
    message: "hostname not allowed: {reason}",
    advice: "Choose another host name, or have whoever holds it give it up.",
    ...statuses(400, "FAILED_PRECONDITION"),
  },
  AKP_DESTINATION_UNKNOWN: {
    message: "destination deployment does not exist",
    advice: "Name a deployment of yours that has a running lease with this provider, and send it a manifest first.",
    ...statuses(400, "NOT_FOUND"),
  },
  AKP_MIGRATION_TOO_LONG: {
    message: "more than {most} names are to be moved at once",
    advice: "Ask for them in several requests.",
    ...statuses(400, "INVALID_ARGUMENT"),
  },
  AKP_HOSTNAME_UNUSED: {
    message: "the hostname {host} is not used by this deployment",
    advice: "Send the deployment that is to have it a manifest which names it, and ask again.",
    ...statuses(400, "INVALID_ARGUMENT"),
  },
  AKP_ADDRESS_IN_USE: {
    message: "{name} belongs to another lease",
    advice: "Have the lease that has it moved or closed, or use another port or endpoint.",
    ...statuses(409, "ALREADY_EXISTS"),
  },
  AKP_ENDPOINT_UNUSED: {
    message: "the endpoint {endpoint} does not exist in the destination deployment",
    advice: "Send the deployment that is to have it a manifest which names it, and ask again.",
    ...statuses(400, "INVALID_ARGUMENT"),
  },
} as const satisfies Errors;
