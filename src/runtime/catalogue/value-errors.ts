import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const valueErrors = {
  AKP_VALUE_MALFORMED: {
    message: "{value} is not {expected}: {reason}",
    advice: "Write it like {example}.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_VALUE_OUT_OF_RANGE: {
    message: "{value} is out of range for {expected}",
    advice: "It must lie between {least} and {most}.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_COIN_DENOMS_DIFFER: {
    message: "{left} and {right} are different tokens and cannot be added or subtracted",
    advice: "Use the same denom for both: a price, its limit and its deposit are each settled in one token.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
} as const satisfies Errors;
