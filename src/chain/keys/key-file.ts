/** A file of the operator's own that holds the key: a mnemonic, a private key in hex, or an armored export. */
import { ProviderError } from "../../runtime/errors.ts";
import { isArmored } from "./armor.ts";
import { readArmoredKey } from "./armored-key.ts";
import { checkMnemonic, type Derivation, keyOfMnemonic, looksLikeMnemonic, mnemonicWords } from "./mnemonic.ts";
import type { Passphrase } from "./passphrase.ts";
import { type KeyListener, readSecretFile } from "./secret-file.ts";

const hexText = /^(?:0x)?([0-9a-f]+)$/i;
const hexDigits = 64;
/** `{"` in base64. */
const jweStart = "eyJ";

export async function readKeyFile(
  path: string,
  derivation: Derivation,
  passphrase: () => Passphrase,
  listener: KeyListener,
): Promise<Uint8Array> {
  const text = (await readSecretFile(path, listener)).trim();
  if (isArmored(text)) return readArmoredKey(text, path, passphrase);
  const refuse = (reason: string) => new ProviderError("AKP_KEY_FILE_MALFORMED", { path, reason });
  if (text === "") throw refuse("it is empty");
  // Whatever it turns out to be, it was meant to be a secret.
  listener.onSecret(text);

  const [, digits] = hexText.exec(text) ?? [];
  if (digits !== undefined) {
    if (digits.length !== hexDigits) throw refuse(`it has ${digits.length} hex digits, and a key has ${hexDigits}`);
    return Buffer.from(digits, "hex");
  }
  const words = mnemonicWords(text);
  if (!looksLikeMnemonic(words)) {
    throw refuse(text.startsWith(jweStart) ? "it is an entry of a keyring" : "it is something else");
  }
  const mnemonic = checkMnemonic(words, path);
  listener.onSecret(mnemonic.toString());
  return keyOfMnemonic(mnemonic, derivation);
}
