/** Where the provider's key comes from: a file of its own, or a keyring of the network's tools. */
import { join } from "node:path";
import { type Address, parseAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isArmored, readArmoredKey } from "./armored-key.ts";
import { openKeyring } from "./keyring.ts";
import { checkMnemonic, type Derivation, keyOfMnemonic, looksLikeMnemonic, mnemonicWords } from "./mnemonic.ts";
import { findPassphrase, type KeyListener, type PassphraseSettings, readSecretFile } from "./secret-file.ts";
import { createSigner, isPrivateKey } from "./signer.ts";

export interface KeySettings extends PassphraseSettings {
  /** --key-file: a mnemonic, a private key in hex or an armored export. Given, no keyring is looked at. */
  readonly keyFile?: string | undefined;
  /** Which account of a mnemonic. */
  readonly derivation?: Derivation | undefined;
  /** --from: the name of a key in the keyring, or the address that the key must have. */
  readonly from?: string | undefined;
  readonly keyringBackend: string;
  /** The folder that holds the keyring: --keyring-dir, else --home. */
  readonly keyringDir: string;
}

/**
 * Calls `onSecret` with every secret before anything else is done with it. Warnings say what works and should not stay as it is,
 * such as a key that every user of the machine can read.
 */
export async function openKey(settings: KeySettings, onSecret: (value: string) => void) {
  const warnings = new Set<string>();
  const listener: KeyListener = { onSecret, onWarning: (message) => warnings.add(message) };
  const address = addressIn(settings.from);

  const { key, path } = await (settings.keyFile === undefined
    ? fromKeyring(settings, address, listener)
    : fromFile(settings, settings.keyFile, listener));
  onSecret(Buffer.from(key).toString("hex"));
  if (!isPrivateKey(key)) {
    throw new ProviderError("AKP_KEY_UNUSABLE", { path, reason: "its number is not one that secp256k1 takes" });
  }
  const signer = createSigner(key);
  if (address !== undefined && signer.address !== address) {
    throw new ProviderError("AKP_KEY_ADDRESS_DIFFERS", { path, found: signer.address, wanted: address });
  }
  return { signer, warnings: [...warnings] };
}

/** The other back ends need a desktop or another program. */
const folders = new Map([
  ["test", "keyring-test"],
  ["file", "keyring-file"],
]);
/** Fixed in the format: this back end is for trying things. */
const testPassphrase = { text: "test", from: "the back end test", isFixed: true } as const;

async function fromKeyring(settings: KeySettings, address: Address | undefined, listener: KeyListener) {
  const backend = settings.keyringBackend;
  const name = folders.get(backend);
  if (name === undefined) throw new ProviderError("AKP_KEYRING_BACKEND_UNSUPPORTED", { backend });
  const folder = join(settings.keyringDir, name);
  const passphrase = () =>
    backend === "test" ? testPassphrase : findPassphrase(settings, `the keyring ${folder}`, listener);
  const keyring = await openKeyring({ folder, passphrase, listener });
  if (settings.from === undefined) throw new ProviderError("AKP_KEY_NOT_CHOSEN", { folder, names: keyring.names });
  return keyring.read(address === undefined ? { name: settings.from } : { address });
}

/** A key may well be named "akash1", so only what is about as long as an address is taken for one. */
function addressIn(from: string | undefined): Address | undefined {
  return from !== undefined && /^akash1.{30,}$/i.test(from) ? parseAddress(from) : undefined;
}

// A file of the operator's own that holds the key: a mnemonic, a private key in hex, or an armored export.

const hexText = /^(?:0x)?([0-9a-f]+)$/i;
const hexDigits = 64;
/** `{"` in base64. */
const jweStart = "eyJ";

async function fromFile(settings: KeySettings, path: string, listener: KeyListener) {
  return { key: await readKeyFile(settings, path, listener), path };
}

async function readKeyFile(settings: KeySettings, path: string, listener: KeyListener): Promise<Uint8Array> {
  const text = (await readSecretFile(path, listener)).trim();
  if (isArmored(text)) return readArmoredKey(text, path, () => findPassphrase(settings, path, listener));
  const malformed = (reason: string) => new ProviderError("AKP_KEY_FILE_MALFORMED", { path, reason });
  if (text === "") throw malformed("it is empty");
  // Whatever it is, it was meant to be a secret.
  listener.onSecret(text);

  const [, digits] = hexText.exec(text) ?? [];
  if (digits !== undefined) {
    if (digits.length !== hexDigits) throw malformed(`it has ${digits.length} hex digits, and a key has ${hexDigits}`);
    return Buffer.from(digits, "hex");
  }
  const words = mnemonicWords(text);
  if (!looksLikeMnemonic(words)) {
    throw malformed(text.startsWith(jweStart) ? "it is an entry of a keyring" : "it is something else");
  }
  const mnemonic = checkMnemonic(words, path);
  listener.onSecret(mnemonic.toString());
  return keyOfMnemonic(mnemonic, settings.derivation);
}
