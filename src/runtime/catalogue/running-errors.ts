import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings, storage } = exitCodes;

export const runningErrors = {
  AKP_INTERNAL: {
    message: "unexpected error: {reason}",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
    ...statuses(500, "INTERNAL"),
  },
  AKP_SERVICE_DIED: {
    message: "the service {service} ended by itself: {reason}",
    advice:
      "The program stops so that its supervisor can start it afresh. Look at the log lines of {service} just before.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_SERVICE_START_FAILED: {
    message: "the service {service} could not start: {reason}",
    advice: "See the reason above; nothing was left running.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_NOTIFICATION_FAILED: {
    message: "the receiver of --notify-url was not told of {condition}: {reason}",
    advice: "It is tried again, and told how things stand then. Look after the receiver, or mend --notify-url.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_SHUTDOWN_LATE: {
    message: "not stopped within {limitMs} ms: {services}",
    advice: "Nothing is lost, the journal has it all. Please report which service it was.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_LISTEN_FAILED: {
    message: "{what} cannot listen on {address}: {reason}",
    advice: "Stop what uses that address, or choose another one with {setting}; port 0 takes any that is free.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_CONTROL_PATH_TOO_LONG: {
    message: "the control socket {path} cannot be made: its path has {bytes} bytes, and the system takes {limit}",
    advice: "Choose a data directory with a shorter path in --data-dir.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_CONTROL_SOCKET_UNUSABLE: {
    message: "the control socket {path} cannot be used: {reason}",
    advice: "Stop whatever uses that path or move it away, and mind that only the provider's user may write there.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_PROVIDER_NOT_RUNNING: {
    message: "no running provider answers at {path}: {reason}",
    advice:
      "Start it, or name its folder as it was named there: --data-dir or --home. A provider in a container is asked inside of it.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_CONTROL_FORBIDDEN: {
    message: "this user may not ask the provider at {path}: {reason}",
    advice: "Give the command as the user that the provider runs as.",
    ...statuses(403, "PERMISSION_DENIED"),
  },
  AKP_CONTROL_CUT: {
    message: "the provider at {path} did not answer to the end: {reason}",
    advice: "It may just have stopped. Look at its log, and ask again.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_NOT_RUNNING_YET: {
    message: "the provider cannot answer {about} now: {reason}",
    advice: "Ask again when it runs; until then its log says what it waits for.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_ORDER_UNKNOWN: {
    message: "no order {id} is known; {since}",
    advice:
      "If it is younger than that, this provider was not running or followed another chain when it was open. `akash-provider orders` shows those that were seen.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_QUESTION_UNKNOWN: {
    message: "the provider has no answer to {about}; it knows: {known}",
    advice:
      "A provider without a cluster to sell (--cluster-k8s) does not bid and knows of no orders. Otherwise it is of another version than this command: use the same program for both.",
    ...statuses(404, "NOT_FOUND"),
  },
  AKP_QUESTION_REFUSED: {
    message: "the question was refused: {reason}",
    advice: "Use `akash-provider` of the same version as the provider, or see docs/operations.md for what may be sent.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
} as const satisfies Errors;
