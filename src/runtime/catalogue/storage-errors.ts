import { type Errors, exitCodes, statuses } from "./entry.ts";

const { storage } = exitCodes;

export const storageErrors = {
  AKP_DATA_DIR_UNWRITABLE: {
    message: "the data directory {path} cannot be written: {reason}",
    advice: "Make {path} writable for this user, or choose another one with --data-dir.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_DATA_DIR_IN_USE: {
    message: "another akash-provider already uses the data directory {path} ({holder})",
    advice:
      "Stop that one first, or give this one its own with --data-dir. Two providers never share a journal or a key.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_DISK_FULL: {
    message: "the disk that holds {path} is full",
    advice: "Free some room and start again; everything that was acknowledged is safe in the journal.",
    ...statuses(507, "RESOURCE_EXHAUSTED", storage),
  },
  AKP_JOURNAL_TOO_NEW: {
    message:
      "the journal {path} was written by a newer version of this program (schema {found}, this one knows {known})",
    advice: "Run that newer version, or move the file away to begin a new journal from chain and cluster.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_JOURNAL_TOO_OLD: {
    message:
      "the journal {path} was written by an older version of this program (schema {found}, this one knows {known})",
    advice: "Start the provider in this version: that brings the journal up to date. A command never changes it.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_JOURNAL_MISSING: {
    message: "there is no journal {path}",
    advice: "Name the folder of a provider that has run: --data-dir, or --home as the provider has it.",
    ...statuses(404, "NOT_FOUND", storage),
  },
  AKP_JOURNAL_UNREADABLE: {
    message: "the journal {path} cannot be read: {reason}",
    advice: "Run this as the user that the provider runs as, or on a copy of its folder: --data-dir.",
    ...statuses(500, "FAILED_PRECONDITION", storage),
  },
  AKP_JOURNAL_DAMAGED: {
    message: "the journal {path} was damaged ({reason}) and was set aside as {kept}",
    advice:
      "Nothing to do: a new journal is built from chain and cluster. Keep {kept} if you want to look into it; it may hold tenants' secrets.",
    ...statuses(500, "DATA_LOSS", storage),
  },
  AKP_JOURNAL_CORRUPT: {
    message: "the journal {path} can no longer be read as it was written: {reason}",
    advice: "The program stops. The next start sets the file aside and builds a new one from chain and cluster.",
    ...statuses(500, "DATA_LOSS"),
  },
  AKP_JOURNAL_BUSY: {
    message: "the journal {path} took no more work just now: {reason}",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look for another program that has {path} open, or for a slow disk.",
    ...statuses(503, "UNAVAILABLE"),
  },
  AKP_JOURNAL_CLOSED: {
    message: "the journal is closed: {reason}",
    advice: "The program is stopping; the same work is taken up again at the next start.",
    ...statuses(503, "UNAVAILABLE"),
  },
} as const satisfies Errors;
