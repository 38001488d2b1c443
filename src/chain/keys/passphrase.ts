/** What opens an encrypted key. It comes from the environment or a file named there, never from the command line. */
import { ProviderError } from "../../runtime/errors.ts";
import type { KeyListener } from "./secret-file.ts";

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
}

/** `what` is the thing that it should open. Asked only when something is encrypted. */
export function findPassphrase(settings: PassphraseSettings, what: string, listener: KeyListener): Passphrase {
  const { passphrase: text } = settings;
  if (!text) throw new ProviderError("AKP_KEY_PASSPHRASE_MISSING", { what });
  listener.onSecret(text);
  return { text, from: "AP_KEY_PASSPHRASE" };
}

export function wrongPassphrase(what: string, { from }: Passphrase): ProviderError {
  return new ProviderError("AKP_KEY_PASSPHRASE_WRONG", { what, from });
}
