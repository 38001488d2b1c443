/** What the chain has of an account's certificates, for who must know whether a server is that account's. */
import { X509Certificate } from "node:crypto";
import type { Queries } from "../../chain/chain.ts";
import type { CertificatesOnChain } from "./server-check.ts";

export function certificatesOnChain(queries: Pick<Queries, "certificates">): CertificatesOnChain {
  return async (owner, serial) => {
    const { items } = await queries.certificates({ owner, serial, state: "valid" });
    return items.flatMap(({ certificate }) => (certificate ? [new X509Certificate(certificate.cert).raw] : []));
  };
}
