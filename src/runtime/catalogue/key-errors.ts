import { type Errors, exitCodes, statuses } from "./entry.ts";

const { settings } = exitCodes;

export const keyErrors = {
  AKP_KEY_MISSING: {
    message: "no key is named, so that the provider could neither bid nor be paid",
    advice:
      "Name one with --from (a key in the keyring) or --key-file. To try things without one: `akash-provider demo`, or `akash-provider chain`, which makes a chain and a key for it.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_KEY_FILE_UNREADABLE: {
    message: "{path}, which should hold a secret, cannot be read: {reason}",
    advice: "Check the path, and that this user may read the file.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_KEY_FILE_MALFORMED: {
    message: "{path} holds no key: {reason}",
    advice:
      "Put into it a mnemonic, a private key of 64 hex digits, or what `provider-services keys export NAME` printed, and nothing else.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_MNEMONIC_WRONG: {
    message: "the mnemonic in {where} is wrong: {reason}",
    advice: "{hint}",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_KEY_PASSPHRASE_MISSING: {
    message: "{what} is encrypted, and there is no pass-phrase for it",
    advice:
      "Put the pass-phrase into a file and name that in AP_KEY_PASSPHRASE_FILE, or put it into AP_KEY_PASSPHRASE.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_KEY_PASSPHRASE_WRONG: {
    message: "the pass-phrase from {from} does not open {what}",
    advice: "Use the pass-phrase that was typed when the key was exported or its keyring was made.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
  AKP_KEY_UNUSABLE: {
    message: "the key in {path} cannot sign here: {reason}",
    advice: "Name another key with --from or --key-file: one of the type secp256k1 whose private half is there.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_KEY_ADDRESS_DIFFERS: {
    message: "the key in {path} is that of {found}, not of {wanted}",
    advice:
      "Correct --from, or name the right key. A mnemonic has many accounts: --key-account, --key-index and --key-coin-type choose among them.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_KEYRING_BACKEND_UNSUPPORTED: {
    message: "a key in the keyring {backend} is out of reach for a provider, which runs without a desktop",
    advice:
      "Export it with `provider-services keys export NAME --keyring-backend {backend}` and name that file with --key-file, or import it into a keyring with --keyring-backend file or test.",
    ...statuses(400, "FAILED_PRECONDITION", settings),
  },
  AKP_KEYRING_MISSING: {
    message: "the keyring {folder} cannot be read: {reason}",
    advice:
      "Set --keyring-dir to the folder that holds it, and --keyring-backend to the kind it is; or name a file with --key-file.",
    ...statuses(500, "FAILED_PRECONDITION", settings),
  },
  AKP_KEYRING_ENTRY_DAMAGED: {
    message: "{path} is no sound entry of a keyring: {reason}",
    advice: "Restore it from a backup, or make the keyring again from the mnemonic.",
    ...statuses(500, "DATA_LOSS", settings),
  },
  AKP_KEY_UNKNOWN: {
    message: "the keyring {folder} has no key {key}; it has: {names}",
    advice: "Choose one of these with --from, or set --keyring-dir and --keyring-backend to the keyring you mean.",
    ...statuses(400, "NOT_FOUND", settings),
  },
  AKP_KEY_NOT_CHOSEN: {
    message: "which key of the keyring {folder} is the provider's was not said; it has: {names}",
    advice: "Choose one with --from.",
    ...statuses(400, "INVALID_ARGUMENT", settings),
  },
} as const satisfies Errors;
