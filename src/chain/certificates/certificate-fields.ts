/** What Node reads in a certificate, in the words of the chain. */
import type { X509Certificate } from "node:crypto";

/** What a certificate may be for. Node calls the list of these keyUsage, and means the extended one. */
export const clientAuth = "1.3.6.1.5.5.7.3.2";
export const serverAuth = "1.3.6.1.5.5.7.3.1";

/**
 * The one common name in a subject or issuer, which have a line for every attribute; line ends within one are escaped. Empty
 * where there is none, or more than one. The object that Node makes of a certificate would be easier to read, but making it
 * kills the process where the public key is broken.
 */
export function commonName(name: string | undefined): string {
  const [found = "", ...more] = (name ?? "").split("\n").filter((line) => line.startsWith("CN="));
  return more.length === 0 ? found.slice("CN=".length) : "";
}

export function serialOf({ serialNumber }: Pick<X509Certificate, "serialNumber">): bigint {
  return BigInt(`0x${serialNumber}`);
}
