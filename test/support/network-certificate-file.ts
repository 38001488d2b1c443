/** `<home>/<address>.pem`, as the network's tools write it today. */
import { createPrivateKey } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { CertificateWithKey } from "../../src/chain/certificates/certificate-file.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";

export function writeCertificateFile(path: string, { certificate, key }: CertificateWithKey, signer: Signer): void {
  const passphrase = Buffer.from(signer.sign(Buffer.from(signer.address)));
  const encryption = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase } as const;
  writeFileSync(path, `${certificate}${createPrivateKey(key).export(encryption)}`, { mode: 0o600 });
}
