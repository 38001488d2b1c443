import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings, storage } = exitCodes;

export const boxErrors = {
  AKP_CHAIN_FILE_UNUSABLE: {
    message: "the embedded chain cannot be kept in {path}: {reason}",
    advice: "Check that the folder exists and that this user may write there.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_CHAIN_FILE_DAMAGED: {
    message: "{path} is not the file of an embedded chain any more: {reason}",
    advice: "Bring it back from a copy, or move it away to begin a new chain.",
    ...statuses(500, "DATA_LOSS", storage),
  },
  AKP_CHAIN_FILE_OTHER: {
    message: "{path} holds a chain that began otherwise: {difference} is {found} there and {wanted} here",
    advice: "Name another file, or move this one away to begin a new chain.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_CHAIN_REPLAY_DIVERGED: {
    message: "block {height} of {path} does not lead where it led when it was made: {reason}",
    advice: "Run the version of this program that wrote the file, or move the file away to begin a new chain.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
} as const satisfies Errors;
