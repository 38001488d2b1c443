/** The settings that say which key, as the keys want them. */
import type { KeySettings } from "../chain/keys/open-key.ts";
import type { UsedConfig } from "../config/used-settings.ts";

export function keySettings(values: UsedConfig): KeySettings {
  const { keyFile, from, keyringBackend, keyringDir, home, keyPassphrase } = values;
  const derivation = { coinType: values.keyCoinType, account: values.keyAccount, index: values.keyIndex };
  return { keyFile, from, derivation, keyringBackend, keyringDir: keyringDir ?? home, passphrase: keyPassphrase };
}
