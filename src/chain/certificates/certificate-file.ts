/** `<home>/<address>.pem`, the network's tools' certificate and key; its pass-phrase is a signature of the account. */

import { createDecipheriv, createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Address, addressBytes } from "../../market/address.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { readText } from "../../runtime/followed-file.ts";
import type { Signer } from "../keys/signer.ts";

/** Both as PEM, the key of PKCS#8 and not encrypted. Behind a certificate may stand those that lead to its authority. */
export interface CertificateWithKey {
  readonly certificate: string;
  readonly key: string;
}

export function certificateFilePath(home: string, address: Address): string {
  return join(home, `${address}.pem`);
}

/** Undefined where there is no such file; AKP_CERTIFICATE_FILE_UNUSABLE where it holds none of that account. */
export function readCertificateFile(path: string, signer: Signer): CertificateWithKey | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return readBlocks(readText(path).text, signer);
  } catch (thrown) {
    throw new ProviderError("AKP_CERTIFICATE_FILE_UNUSABLE", { path, reason: reasonOf(thrown) }, { cause: thrown });
  }
}

const pemBlock = /-----BEGIN ([A-Z ]{1,40})-----[\s\S]*?-----END \1-----/g;

function readBlocks(text: string, signer: Signer): CertificateWithKey {
  const blocks = [...text.matchAll(pemBlock)];
  const [certificate] = blocks.find(([, label]) => label === "CERTIFICATE") ?? [];
  const [key] = blocks.find(([, label]) => label?.endsWith("PRIVATE KEY")) ?? [];
  if (certificate === undefined || key === undefined) throw new Error("it does not hold a certificate and a key");
  const read = new X509Certificate(certificate);
  if (commonName(read.subject) !== signer.address) throw new Error(`the certificate is not that of ${signer.address}`);
  const opened = openKey(key, signer);
  if (!read.checkPrivateKey(opened)) throw new Error("the key does not belong to the certificate");
  return { certificate: `${certificate}\n`, key: opened.export({ type: "pkcs8", format: "pem" }).toString() };
}

function openKey(pem: string, signer: Signer): KeyObject {
  let failure: unknown;
  for (const passphrase of passphrasesOf(signer)) {
    try {
      return openLegacy(pem, passphrase) ?? createPrivateKey({ key: pem, passphrase });
    } catch (thrown) {
      failure = thrown;
    }
  }
  throw new Error("its key cannot be opened with a signature of ours", { cause: failure });
}

/** Of the address as text, and as the tools once did it, of its bytes. */
function passphrasesOf(signer: Signer): [Buffer, Buffer] {
  const signed = [Buffer.from(signer.address), addressBytes(signer.address)] as const;
  return [Buffer.from(signer.sign(signed[0])), Buffer.from(signer.sign(signed[1]))];
}

const legacyHeader =
  /Proc-Type: 4,ENCRYPTED\r?\nDEK-Info: AES-256-CBC,([0-9A-Fa-f]{32})\r?\n\r?\n([A-Za-z0-9+/=\s]+)-----END/;

/** Older tools encrypt PKCS#8 in OpenSSL's legacy PEM form, which OpenSSL itself does not read. */
function openLegacy(pem: string, passphrase: Buffer): KeyObject | undefined {
  const [, iv, base64] = legacyHeader.exec(pem) ?? [];
  if (iv === undefined || base64 === undefined) return undefined;
  const vector = Buffer.from(iv, "hex");
  const salt = vector.subarray(0, 8);
  const first = hash("md5", Buffer.concat([passphrase, salt]), "buffer");
  const second = hash("md5", Buffer.concat([first, passphrase, salt]), "buffer");
  const decipher = createDecipheriv("aes-256-cbc", Buffer.concat([first, second]), vector);
  const der = Buffer.concat([decipher.update(Buffer.from(base64, "base64")), decipher.final()]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

// What Node reads in a certificate, in the words of the chain.

/** What a certificate may be for. Node calls the list of these keyUsage, and means the extended one. */
export const clientAuth = "1.3.6.1.5.5.7.3.2";
export const serverAuth = "1.3.6.1.5.5.7.3.1";

/**
 * The only common name of a subject or issuer; "" where there is none or several. Node's `toLegacyObject` crashes the process
 * on a broken public key.
 */
export function commonName(name: string | undefined): string {
  const [found = "", ...more] = (name ?? "").split("\n").filter((line) => line.startsWith("CN="));
  return more.length === 0 ? found.slice("CN=".length) : "";
}

export function serialOf({ serialNumber }: Pick<X509Certificate, "serialNumber">): bigint {
  return BigInt(`0x${serialNumber}`);
}
