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
  AKP_NO_ACTIVE_LEASE: {
    message: "{deployment} has no active lease",
    advice: "Take a bid first (`akash-provider tenant lease`), or name another deployment with --dseq.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_CERTIFICATE_MISSING: {
    message: "there is no certificate in {path}",
    advice:
      "Make one and put it on the chain (`provider-services tx cert generate client`, then `publish client`), or leave out --auth-type mtls.",
    ...statuses(404, "NOT_FOUND", settings),
  },
  AKP_PROVIDER_UNKNOWN: {
    message: "the chain has no provider {provider}",
    advice: "Check --provider, and that --node is of the right chain; or say where it is with --provider-url.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_PROVIDER_UNREACHABLE: {
    message: "the provider at {url} cannot be reached: {reason}",
    advice: "Check that it is up and that its address is right; --provider-url says another one.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_PROVIDER_UNPROVEN: {
    message: "the server at {url} has not proved that it is the provider: {reason}",
    advice:
      "Nothing was sent to it. Ask the provider to renew its certificate; if the address is not its own, do not use it.",
    ...statuses(502, "UNAUTHENTICATED"),
  },
  // The network's CLI writes it so, and scripts look for it.
  AKP_PROVIDER_REFUSED: {
    message: "{method} {url} was answered with {status}\nprovider error messsage:\n{body}",
    advice: "What to do is in what the provider says.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_PROVIDER_ANSWER_UNREADABLE: {
    message: "what the provider answered is not JSON: {reason}",
    advice: "Check that its address is that of a provider; --provider-url says another one.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_PROVIDER_STREAM_ENDED: {
    message: "the provider ended what it showed: {reason}",
    advice: "What was shown may not be all. Give the command again; `lease-status` says how the lease is doing.",
    ...statuses(502, "ABORTED"),
  },
  // The network's CLI writes it so, and scripts look for it.
  AKP_LEASE_SHELL_FAILED: {
    message: "lease shell failed: {reason}",
    advice: "Check the name of the service and the command; `lease-status` says what runs.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  AKP_NO_TERMINAL: {
    message: "--tty needs a terminal, and the input of this command is none",
    advice: "Leave it out, or give the command from a terminal.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_MANIFEST_NOT_SENT: {
    message: "submit manifest to some providers has been failed",
    advice: "The output says which, and what each of them has against it. Sending it again does no harm.",
    ...statuses(502, "FAILED_PRECONDITION"),
  },
  // Tenants' tools look for these words.
  AKP_HOSTNAME_NOT_ALLOWED: {
    message: "hostname not allowed: {reason}",
    advice: "Choose another host name, or have whoever holds it give it up.",
    ...statuses(400, "FAILED_PRECONDITION"),
  },
  AKP_HOSTNAME_WAITS: {
    message: "observation stopped: {reason}",
    advice: "Nothing is to be done: the host name is served as soon as that is there.",
    ...statuses(409, "FAILED_PRECONDITION"),
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
  AKP_MIGRATION_BUSY: {
    message: "{waiting} requests of yours to move something are being worked on already",
    advice: "Wait for the answers to those before sending more.",
    ...statuses(429, "RESOURCE_EXHAUSTED"),
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
