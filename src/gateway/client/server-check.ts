/**
 * Whether a server is who it should be. Providers show a certificate that an authority signed for their host name, or one that
 * they signed themselves and put on the chain. A tenant's secrets go over this connection, so there is no third way.
 */
import type { X509Certificate } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { serialOf, serverAuth } from "../../chain/certificates/certificate-fields.ts";
import { type Address, findAddress } from "../../market/address.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** The certificates of an account with that number that are valid on the chain, as DER. */
export type CertificatesOnChain = (owner: Address, serial: string) => Promise<readonly Uint8Array[]>;

interface ServerCheck {
  readonly url: string;
  readonly host: string;
  /** Whose server it is; undefined where anybody's will do. */
  readonly provider: string | undefined;
  /** Undefined where the chain may not be asked. */
  readonly onChain: CertificatesOnChain | undefined;
  readonly nowMs: number;
}

interface Shown {
  readonly certificate: X509Certificate | undefined;
  /** What the roots of this machine say to it. */
  readonly isAuthorized: boolean;
}

export async function checkServer({ certificate, isAuthorized }: Shown, check: ServerCheck): Promise<void> {
  const refuse = (reason: string): never => {
    throw new ProviderError("AKP_PROVIDER_UNPROVEN", { url: check.url, reason });
  };
  if (!certificate) return refuse("it shows no certificate");
  // Not by the name that was asked for in the handshake: with a certificate of ours that is another one.
  const named = checkServerIdentity(check.host, certificate.toLegacyObject() as PeerCertificate);
  if (isAuthorized && named === undefined) return;
  const { subject, issuer } = certificate.toLegacyObject();
  const owner = findAddress([subject.CN].flat()[0] ?? "");
  if (!owner) return refuse("no authority that this machine trusts has signed its certificate for this host");
  if (owner !== [issuer.CN].flat()[0]) refuse("its certificate was not signed by the account that it names");
  if (check.provider !== undefined && owner !== check.provider) {
    refuse(`its certificate is that of ${owner}, and not of ${check.provider}`);
  }
  if (check.nowMs < certificate.validFromDate.getTime()) refuse("its certificate is not valid yet");
  if (check.nowMs > certificate.validToDate.getTime()) refuse("its certificate has expired");
  if (!(certificate.keyUsage ?? []).includes(serverAuth)) refuse("its certificate is not for servers");
  if (!check.onChain) return refuse("its certificate is its own, and the chain may not be asked for it (--offline)");
  const serial = `${serialOf(certificate)}`;
  const known = await check.onChain(owner, serial);
  if (!known.some((der) => certificate.raw.equals(der))) {
    refuse(`the chain has no valid certificate of ${owner} like it`);
  }
}
