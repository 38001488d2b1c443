/** A field name longer than this is data in the wrong place. */
export const logNameChars = 256;

/** Anywhere in the name, after it was put in lower case and stripped of separators. */
const secretPart = new RegExp(
  [
    "mnemonic|seedphrase|recoveryphrase|passphrase|password|passwd",
    "secret|token|jwt|bearer|authorization|cookie|hmac|credential",
    "privatekey|privkey|signingkey|encryptionkey|masterkey|apikey|accesskey|clientkey|tlskey",
    // What Kubernetes calls the contents of a Secret.
    "dockerconfig|dockercfg|stringdata",
    // Tenants put their secrets there.
    "(?:env|envs|environ|environment|envvars?|environmentvariables?)$",
  ].join("|"),
);

/** The whole name. `key`, `keys` and `kid` are not here: they name queue keys, attributes and public key ids. */
const secretWhole = new Set(["auth", "auths", "pass", "pwd", "pin", "otp", "seed", "xprv"]);

/** "secretName" and "token_file" tell where a secret is, not what it is; an operator needs to read that. */
const whereabouts = [
  /[_.-](?:name|path|file|dir|count|kind|type)$/i,
  /[a-z0-9](?:Name|Path|File|Dir|Count|Kind|Type)$/,
] as const;

export function isSecretName(name: string): boolean {
  const bare = name
    .slice(0, logNameChars)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
  return secretWhole.has(bare) || (secretPart.test(bare) && !whereabouts.some((pattern) => pattern.test(name)));
}
