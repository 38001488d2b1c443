import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

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
} as const satisfies Errors;
