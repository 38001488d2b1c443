/** The certificates that tenants and providers put on the chain: theirs, signed by themselves, for an elliptic key. */
import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { commonName, serialOf } from "../../../../chain/certificates/certificate-file.ts";
import { codespace, isAddress } from "../../errors.ts";
import { readByOpenssl } from "../../signatures.ts";

export const certError = codespace("cert", {
  notFound: [1, "certificate not found"],
  exists: [3, "certificate exists"],
  alreadyRevoked: [4, "certificate already revoked"],
  invalidSerial: [5, "invalid serial number"],
  invalidCertificate: [6, "invalid certificate value"],
  invalidPublicKey: [7, "invalid pubkey value"],
});

/** The certificate's serial number, if everything about it holds. */
export function checkCertificate(owner: string, cert: Uint8Array, publicKey: Uint8Array): bigint {
  const key = readKey(publicKey);
  const certificate = readCertificate(cert);
  if (!certificate.verify(key)) throw certError("invalidCertificate", "invalid certificate signature");
  const name = commonName(certificate.subject);
  if (!isAddress(name)) throw certError("invalidCertificate", "invalid CommonName");
  if (name !== owner) throw certError("invalidCertificate", "CommonName does not match owner");
  if (certificate.serialNumber.startsWith("-")) throw certError("invalidCertificate", "negative serial number");
  return serialOf(certificate);
}

function readKey(pem: Uint8Array): KeyObject {
  const { type, der } = readPem(pem) ?? {};
  if (!der) throw certError("invalidPublicKey");
  if (type !== "EC PUBLIC KEY") throw certError("invalidPublicKey", "invalid pem block type");
  const key = readByOpenssl(() => createPublicKey({ key: der, format: "der", type: "spki" }));
  if (!key) throw certError("invalidPublicKey", "not a public key");
  if (key.asymmetricKeyType !== "ec") throw certError("invalidPublicKey", "invalid public key type");
  return key;
}

function readCertificate(pem: Uint8Array): X509Certificate {
  const { type, der } = readPem(pem) ?? {};
  if (!der) throw certError("invalidCertificate");
  if (type !== "CERTIFICATE") throw certError("invalidCertificate", "invalid pem block type");
  const certificate = readByOpenssl(() => new X509Certificate(der));
  // Node reads one with a broken key; the chain does not.
  if (!certificate || !readByOpenssl(() => certificate.publicKey))
    throw certError("invalidCertificate", "not a certificate");
  return certificate;
}

/** Exactly one block and nothing behind it; both kinds of line ends are in use. */
const pemBlock = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END \1-----(?:\r?\n)?$/;

function readPem(bytes: Uint8Array): { type: string; der: Buffer } | undefined {
  const [, type, base64] = pemBlock.exec(Buffer.from(bytes).toString()) ?? [];
  return type !== undefined && base64 !== undefined ? { type, der: Buffer.from(base64, "base64") } : undefined;
}
