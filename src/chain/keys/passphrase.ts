/** What opens an encrypted key: from the environment or from a file, never from the command line. */
import { ProviderError } from "../../runtime/errors.ts";
import { type KeyListener, readSecretFile } from "./secret-file.ts";

export interface Passphrase {
  readonly text: string;
  /** Where it was found, for the person whose pass-phrase turns out to be wrong. */
  readonly from: string;
  /** Nobody chose it, so it cannot be wrong. */
  readonly isFixed?: true;
}

export interface PassphraseSettings {
  /** AP_KEY_PASSPHRASE, as it is. */
  readonly passphrase?: string | undefined;
  /** --key-passphrase-file: its first line, without the spaces around it. */
  readonly passphraseFile?: string | undefined;
}

/** `what` is the thing that it should open. Asked only when something is encrypted. */
export async function findPassphrase(
  settings: PassphraseSettings,
  what: string,
  listener: KeyListener,
): Promise<Passphrase> {
  const found = await look(settings, listener);
  if (!found || found.text === "") throw new ProviderError("AKP_KEY_PASSPHRASE_MISSING", { what });
  listener.onSecret(found.text);
  return found;
}

async function look(settings: PassphraseSettings, listener: KeyListener): Promise<Passphrase | undefined> {
  if (settings.passphrase !== undefined) return { text: settings.passphrase, from: "AP_KEY_PASSPHRASE" };
  const path = settings.passphraseFile;
  if (path === undefined) return undefined;
  // The network's own tools read a pass-phrase that is piped to them in the same way.
  const [line = ""] = (await readSecretFile(path, listener)).split("\n");
  return { text: line.trim(), from: path };
}

export function wrongPassphrase(what: string, { from }: Passphrase): ProviderError {
  return new ProviderError("AKP_KEY_PASSPHRASE_WRONG", { what, from });
}
