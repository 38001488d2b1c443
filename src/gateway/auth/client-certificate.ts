/** A client's certificate, as far as it can be judged by itself. Whether it is its owner's, the chain says. */
import { X509Certificate } from "node:crypto";
import { clientAuth, commonName, serialOf } from "../../chain/certificates/certificate-fields.ts";
import { type Address, findAddress } from "../../market/address.ts";
import { AuthRefusal } from "./identity.ts";

export interface ClientCertificate {
  readonly owner: Address;
  readonly serial: bigint;
  readonly fromMs: number;
  readonly untilMs: number;
}

export function readClientCertificate(der: Uint8Array): ClientCertificate {
  const certificate = parse(der);
  const name = commonName(certificate.subject);
  const owner = findAddress(name);
  if (!owner || commonName(certificate.issuer) !== name) {
    throw refuse("tls: invalid certificate's subject common name");
  }
  if (!/^[0-9A-F]+$/.test(certificate.serialNumber)) throw unknownCertificate();
  if (!certificate.keyUsage?.includes(clientAuth))
    throw refuse("x509: certificate specifies an incompatible key usage");
  return {
    owner,
    serial: serialOf(certificate),
    fromMs: certificate.validFromDate.getTime(),
    untilMs: certificate.validToDate.getTime(),
  };
}

/** Asked for every request: a connection may last longer than its certificate. */
export function checkValidity({ fromMs, untilMs }: ClientCertificate, nowMs: number): void {
  if (nowMs >= fromMs && nowMs <= untilMs) return;
  throw refuse("x509: certificate has expired or is not yet valid");
}

export function unknownCertificate(): AuthRefusal {
  return refuse("tls: attempt to use non-existing or revoked certificate");
}

export function tooManyCertificates(): AuthRefusal {
  return refuse("tls: too many peer certificates");
}

function refuse(message: string): AuthRefusal {
  return new AuthRefusal(401, message);
}

function parse(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (error) {
    if (error instanceof Error) throw unknownCertificate();
    throw error;
  }
}
