/** How an account puts a certificate on the chain, and takes it back. */
import type { Address } from "../../market/address.ts";
import { type PackedMessage, packMessage } from "./messages.ts";

/** Both as PEM; the key with the label that the chain insists on. */
export function createCertificateMessage(
  owner: Address,
  { certificate, publicKey }: { readonly certificate: string; readonly publicKey: string },
): PackedMessage {
  return packMessage("createCertificate", { owner, cert: Buffer.from(certificate), pubkey: Buffer.from(publicKey) });
}

/** `serial` in decimal digits. It can never be valid again. */
export function revokeCertificateMessage(owner: Address, serial: string): PackedMessage {
  return packMessage("revokeCertificate", { id: { owner, serial } });
}
