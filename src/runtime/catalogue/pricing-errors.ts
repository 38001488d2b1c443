import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const pricingErrors = {
  AKP_POLICY_REFUSED: {
    message: "the policy file {source} is refused: {reason}",
    advice: "Correct what it names. It is read again by itself, and the last good policies stay in force.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_POLICY_UNREADABLE: {
    message: "the policy file {path} cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file. It is looked at again by itself.",
    ...statuses(503, "FAILED_PRECONDITION", settings),
  },
} as const satisfies Errors;
