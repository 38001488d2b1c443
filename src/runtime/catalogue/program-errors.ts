import { type Errors, entry, settingsEntry, storageEntry } from "./entry.ts";

export const settingErrors = {
  AKP_SETTING_UNKNOWN: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{where}: there is no setting {name}",
    advice: "{hint}",
  }),
  AKP_SETTING_INVALID: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{where}: {name} cannot be {value}: {reason}",
    advice: "{hint}",
  }),
  AKP_SETTING_MISSING: settingsEntry(400, "FAILED_PRECONDITION", {
    message: "{what}",
    advice: "{hint}",
  }),
  AKP_SETTINGS_REFUSED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{count} settings are wrong:\n{list}",
    advice: "Correct them and start again. `akash-provider config print` shows every setting and where it came from.",
  }),
  AKP_SETTINGS_FILE_UNREADABLE: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "{where}: {path} cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
  }),
  AKP_SETTINGS_FILE_MALFORMED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{path}:{line}:{column}: this is not valid YAML: {reason}",
    advice: "Correct that line and start again.",
  }),
} satisfies Errors;

export const storageErrors = {
  AKP_DATA_DIR_UNWRITABLE: storageEntry(500, "FAILED_PRECONDITION", {
    message: "the data directory {path} cannot be written: {reason}",
    advice: "Make {path} writable for this user, or choose another one with --data-dir.",
  }),
  AKP_DATA_DIR_IN_USE: storageEntry(500, "FAILED_PRECONDITION", {
    message: "another akash-provider already uses the data directory {path} ({holder})",
    advice:
      "Stop that one first, or give this one its own with --data-dir. Two providers never share a journal or a key.",
  }),
  AKP_DISK_FULL: storageEntry(507, "RESOURCE_EXHAUSTED", {
    message: "the disk that holds {path} is full",
    advice: "Free some room and start again; everything that was acknowledged is safe in the journal.",
  }),
  AKP_JOURNAL_TOO_NEW: storageEntry(500, "FAILED_PRECONDITION", {
    message:
      "the journal {path} was written by a newer version of this program (schema {found}, this one knows {known})",
    advice: "Run that newer version, or move the file away to begin a new journal from chain and cluster.",
  }),
  AKP_JOURNAL_TOO_OLD: storageEntry(500, "FAILED_PRECONDITION", {
    message:
      "the journal {path} was written by an older version of this program (schema {found}, this one knows {known})",
    advice: "Start the provider in this version: that brings the journal up to date. A command never changes it.",
  }),
  AKP_JOURNAL_MISSING: storageEntry(404, "NOT_FOUND", {
    message: "there is no journal {path}",
    advice: "Name the folder of a provider that has run: --data-dir, or --home as the provider has it.",
  }),
  AKP_JOURNAL_UNREADABLE: storageEntry(500, "FAILED_PRECONDITION", {
    message: "the journal {path} cannot be read: {reason}",
    advice: "Run this as the user that the provider runs as, or on a copy of its folder: --data-dir.",
  }),
  AKP_JOURNAL_DAMAGED: storageEntry(500, "DATA_LOSS", {
    message: "the journal {path} was damaged ({reason}) and was set aside as {kept}",
    advice:
      "Nothing to do: a new journal is built from chain and cluster. Keep {kept} if you want to look into it; it may hold tenants' secrets.",
  }),
  AKP_JOURNAL_CORRUPT: entry(500, "DATA_LOSS", {
    message: "the journal {path} can no longer be read as it was written: {reason}",
    advice: "The program stops. The next start sets the file aside and builds a new one from chain and cluster.",
  }),
  AKP_JOURNAL_BUSY: entry(503, "UNAVAILABLE", {
    message: "the journal {path} took no more work just now: {reason}",
    advice:
      "Nothing to do: the work is tried again. If this lasts, look for another program that has {path} open, or for a slow disk.",
  }),
  AKP_JOURNAL_CLOSED: entry(503, "UNAVAILABLE", {
    message: "the journal is closed: {reason}",
    advice: "The program is stopping; the same work is taken up again at the next start.",
  }),
} satisfies Errors;

export const runningErrors = {
  AKP_INTERNAL: entry(500, "INTERNAL", {
    message: "unexpected error: {reason}",
    advice: "This is a fault of the program. Please report it with the log lines around it.",
  }),
  AKP_SERVICE_DIED: entry(503, "UNAVAILABLE", {
    message: "the service {service} ended by itself: {reason}",
    advice:
      "The program stops so that its supervisor can start it afresh. Look at the log lines of {service} just before.",
  }),
  AKP_SERVICE_START_FAILED: entry(503, "UNAVAILABLE", {
    message: "the service {service} could not start: {reason}",
    advice: "See the reason above; nothing was left running.",
  }),
  AKP_NOTIFICATION_FAILED: entry(503, "UNAVAILABLE", {
    message: "the receiver of --notify-url was not told of {condition}: {reason}",
    advice: "It is tried again, and told how things stand then. Look after the receiver, or mend --notify-url.",
  }),
  AKP_SHUTDOWN_LATE: entry(503, "UNAVAILABLE", {
    message: "not stopped within {limitMs} ms: {services}",
    advice: "Nothing is lost, the journal has it all. Please report which service it was.",
  }),
  AKP_LISTEN_FAILED: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "{what} cannot listen on {address}: {reason}",
    advice: "Stop what uses that address, or choose another one with {setting}; port 0 takes any that is free.",
  }),
  AKP_CONTROL_PATH_TOO_LONG: settingsEntry(500, "FAILED_PRECONDITION", {
    message: "the control socket {path} cannot be made: its path has {bytes} bytes, and the system takes {limit}",
    advice: "Choose a data directory with a shorter path in --data-dir.",
  }),
  AKP_CONTROL_SOCKET_UNUSABLE: storageEntry(500, "FAILED_PRECONDITION", {
    message: "the control socket {path} cannot be used: {reason}",
    advice: "Stop whatever uses that path or move it away, and mind that only the provider's user may write there.",
  }),
  AKP_PROVIDER_NOT_RUNNING: entry(503, "UNAVAILABLE", {
    message: "no running provider answers at {path}: {reason}",
    advice:
      "Start it, or name its folder as it was named there: --data-dir or --home. A provider in a container is asked inside of it.",
  }),
  AKP_CONTROL_FORBIDDEN: entry(403, "PERMISSION_DENIED", {
    message: "this user may not ask the provider at {path}: {reason}",
    advice: "Give the command as the user that the provider runs as.",
  }),
  AKP_CONTROL_CUT: entry(503, "UNAVAILABLE", {
    message: "the provider at {path} did not answer to the end: {reason}",
    advice: "It may just have stopped. Look at its log, and ask again.",
  }),
  AKP_NOT_RUNNING_YET: entry(503, "UNAVAILABLE", {
    message: "the provider cannot answer {about} now: {reason}",
    advice: "Ask again when it runs; until then its log says what it waits for.",
  }),
  AKP_ORDER_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "no order {id} is known; {since}",
    advice:
      "If it is younger than that, this provider was not running or followed another chain when it was open. `akash-provider orders` shows those that were seen.",
  }),
  AKP_QUESTION_UNKNOWN: entry(404, "NOT_FOUND", {
    message: "the provider has no answer to {about}; it knows: {known}",
    advice:
      "A provider without a cluster to sell (--cluster-k8s) does not bid and knows of no orders. Otherwise it is of another version than this command: use the same program for both.",
  }),
  AKP_QUESTION_REFUSED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "the question was refused: {reason}",
    advice: "Use `akash-provider` of the same version as the provider, or see docs/operations.md for what may be sent.",
  }),
} satisfies Errors;

export const busErrors = {
  AKP_BUS_UNREACHABLE: entry(503, "UNAVAILABLE", {
    message: "the Redis bus at {address} cannot be reached: {reason}",
    advice:
      "Nothing is lost, messages are only hints. Start Redis or correct --redis-url; the connection is made as soon as it answers.",
  }),
  AKP_BUS_MESSAGE_TOO_LARGE: entry(413, "RESOURCE_EXHAUSTED", {
    message: "a message of {bytes} bytes on {topic} was refused: the bus takes {limit}",
    advice: "Publish a summary instead, or only what changed.",
  }),
  AKP_BUS_MESSAGE_MALFORMED: entry(400, "INVALID_ARGUMENT", {
    message: "a message on {topic} was ignored: {reason}",
    advice: "Something else writes to this Redis under our keys. Give the provider a database of its own.",
  }),
} satisfies Errors;

export const valueErrors = {
  AKP_VALUE_MALFORMED: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{value} is not {expected}: {reason}",
    advice: "Write it like {example}.",
  }),
  AKP_VALUE_OUT_OF_RANGE: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{value} is out of range for {expected}",
    advice: "It must lie between {least} and {most}.",
  }),
  AKP_COIN_DENOMS_DIFFER: settingsEntry(400, "INVALID_ARGUMENT", {
    message: "{left} and {right} are different tokens and cannot be added or subtracted",
    advice: "Use the same denom for both: a price, its limit and its deposit are each settled in one token.",
  }),
} satisfies Errors;
