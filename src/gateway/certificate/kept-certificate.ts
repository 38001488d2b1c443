/** A certificate of ours with its key, as it is kept and read again. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { commonName, serialOf, serverAuth } from "../../chain/certificates/certificate-fields.ts";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { pem } from "../../chain/certificates/der.ts";
import type { Address } from "../../market/address.ts";
import { day } from "../../runtime/durations.ts";
import { certificateRenewShare } from "../acme/certificate-issuer.ts";

/** … and of one that was given a short life, a week. */
const certificateRenewLeastMs = 7 * day;

export interface KeptCertificate extends CertificateWithKey {
  /** In decimal digits, as the chain writes it: within an account, its name. */
  readonly serial: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly der: Uint8Array;
  /** Clients accept it from a server, and it is for all of these names. */
  serves(hosts: readonly string[]): boolean;
}

/** Throws what is wrong with it. */
export function readKept({ certificate, key }: CertificateWithKey, owner: Address): KeptCertificate {
  const read = new X509Certificate(certificate);
  if (commonName(read.subject) !== owner) throw new Error(`the certificate is not that of ${owner}`);
  if (!read.checkPrivateKey(createPrivateKey(key))) throw new Error("the key does not belong to the certificate");
  return {
    certificate,
    key,
    serial: `${serialOf(read)}`,
    fromMs: read.validFromDate.getTime(),
    untilMs: read.validToDate.getTime(),
    der: read.raw,
    serves: (hosts) => (read.keyUsage ?? []).includes(serverAuth) && hosts.every((host) => isFor(read, host)),
  };
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** With the label that the chain insists on. */
export function publicKeyOf({ certificate }: CertificateWithKey): string {
  return pem("EC PUBLIC KEY", new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" }));
}

/** From then on another one is to take its place. */
export function renewAtMs({ fromMs, untilMs }: Pick<KeptCertificate, "fromMs" | "untilMs">): number {
  return untilMs - Math.max((untilMs - fromMs) * certificateRenewShare, certificateRenewLeastMs);
}
