import { type Errors, statuses } from "./entry.ts";

export const busErrors = {
  AKP_BUS_UNREACHABLE: {
    message: "the Redis bus at {address} cannot be reached: {reason}",
    advice:
      "Nothing is lost, messages are only hints. Start Redis or correct --redis-url; the connection is made as soon as it answers.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_BUS_MESSAGE_TOO_LARGE: {
    message: "a message of {bytes} bytes on {topic} was refused: the bus takes {limit}",
    advice: "Publish a summary instead, or only what changed.",
    ...statuses(413, "RESOURCE_EXHAUSTED"),
  },
  AKP_BUS_MESSAGE_MALFORMED: {
    message: "a message on {topic} was ignored: {reason}",
    advice: "Something else writes to this Redis under our keys. Give the provider a database of its own.",
    ...statuses(400, "INVALID_ARGUMENT"),
  },
} as const satisfies Errors;
