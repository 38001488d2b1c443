/** Which field names announce a secret, however they are spelled: privateKey, PRIVATE_KEY, x-private-key. */
import { limits } from "./limits.ts";

/** `environment` keeps the names of variables and hides their values; `headers` may be a flat list of names and values. */
export type NameKind = "open" | "secret" | "environment" | "headers";

/** Anywhere in the name, after it was put in lower case and stripped of separators. */
const secretPart = new RegExp(
  [
    "mnemonic|seedphrase|recoveryphrase|passphrase|password|passwd",
    "secret|token|jwt|bearer|authorization|cookie|hmac|credential",
    "privatekey|privkey|signingkey|encryptionkey|masterkey|apikey|accesskey|clientkey|tlskey",
    // What Kubernetes calls the contents of a Secret.
    "dockerconfig|dockercfg|stringdata",
  ].join("|"),
);

/** The whole name. `key`, `keys` and `kid` are not here: they name queue keys, attributes and public key ids. */
const secretWhole = new Set(["auth", "auths", "pass", "pwd", "pin", "otp", "seed", "xprv"]);

const environmentEnd = /(?:env|envs|environ|environment|envvars?|environmentvariables?)$/;

/** "secretName" and "token_file" tell where a secret is, not what it is; an operator needs to read that. */
const whereabouts = [
  /[_.-](?:name|path|file|dir|count|kind|type)$/i,
  /[a-z0-9](?:Name|Path|File|Dir|Count|Kind|Type)$/,
] as const;

const judged = new Map<string, NameKind>();

export function kindOfName(name: string): NameKind {
  const known = judged.get(name);
  if (known) return known;
  const kind = judge(name);
  if (judged.size >= limits.redactorNames) judged.clear();
  if (name.length <= limits.logNameChars) judged.set(name, kind);
  return kind;
}

function judge(name: string): NameKind {
  const bare = name
    .slice(0, limits.logNameChars)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
  if (secretWhole.has(bare)) return "secret";
  if (secretPart.test(bare)) return whereabouts.some((pattern) => pattern.test(name)) ? "open" : "secret";
  if (environmentEnd.test(bare)) return "environment";
  return bare.endsWith("headers") ? "headers" : "open";
}
