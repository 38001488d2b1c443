/** Reads the files that hold secrets: never more than such a file has, and with a warning when every user can read it too. */
import { open } from "node:fs/promises";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";

/** The longest file with a secret is an entry of a keyring: under 2 KiB. Not more than redactorSecretMostChars. */
const keyFileBytes = 8_192;

export interface KeyListener {
  /** A secret in clear text, before anything else is done with it: logs must never show it. */
  onSecret(value: string): void;
  /** Something that works and should not stay as it is. */
  onWarning(message: string): void;
}

/** Everybody outside the file's group. The group itself is how Kubernetes lets a pod read its secrets. */
const otherUsers = 0o007;

export async function readSecretFile(path: string, listener: KeyListener): Promise<string> {
  const { bytes, mode } = await readBounded(path).catch((thrown: unknown) => {
    throw new ProviderError("AKP_KEY_FILE_UNREADABLE", { path, reason: reasonOf(thrown) });
  });
  if (bytes.length > keyFileBytes) {
    const reason = `it is longer than ${keyFileBytes} bytes, which no key is`;
    throw new ProviderError("AKP_KEY_FILE_MALFORMED", { path, reason });
  }
  if ((mode & otherUsers) !== 0) {
    listener.onWarning(`every user of this machine may use ${path}, which holds a secret: chmod 600 it`);
  }
  // Some editors begin a file with a byte order mark.
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}

/** At most one byte more than is allowed, whatever the path leads to: a pipe and a device have no size to look at. */
async function readBounded(path: string): Promise<{ bytes: Buffer; mode: number }> {
  await using file = await open(path);
  const { mode } = await file.stat();
  const buffer = Buffer.alloc(keyFileBytes + 1);
  let length = 0;
  for (let read = 1; read > 0 && length < buffer.length; length += read) {
    ({ bytesRead: read } = await file.read(buffer, length, buffer.length - length, null));
  }
  return { bytes: buffer.subarray(0, length), mode };
}

// The pass-phrase of an encrypted key. It comes from the environment or a file named there, never from the command line.

export interface Passphrase {
  readonly text: string;
  /** Where it was found, for the person whose pass-phrase turns out to be wrong. */
  readonly from: string;
  /** Part of the format, so it cannot be wrong. */
  readonly isFixed?: true;
}

export interface PassphraseSettings {
  /** AP_KEY_PASSPHRASE, as it is. */
  readonly passphrase?: string | undefined;
}

/** `what` is the thing that it should open. Called only when something is encrypted. */
export function findPassphrase(
  { passphrase: text }: PassphraseSettings,
  what: string,
  listener: KeyListener,
): Passphrase {
  if (!text) throw new ProviderError("AKP_KEY_PASSPHRASE_MISSING", { what });
  listener.onSecret(text);
  return { text, from: "AP_KEY_PASSPHRASE" };
}

export function wrongPassphrase(what: string, { from }: Passphrase): ProviderError {
  return new ProviderError("AKP_KEY_PASSPHRASE_WRONG", { what, from });
}
