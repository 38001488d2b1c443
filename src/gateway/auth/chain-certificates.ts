/** The certificates that accounts have on the chain. One that was revoked is none from the next block on. */
import { X509Certificate } from "node:crypto";
import type { Chain } from "../../chain/chain.ts";
import type { Address } from "../../market/address.ts";

export interface ChainCertificates {
  /**
   * The valid certificate as DER, or undefined where there is none, or it was revoked. At once where it is known; `source`
   * as for keys. Throws AKP_CHAIN_SILENT where the chain would have to be asked and does not answer.
   */
  certificateOf(
    owner: Address,
    serial: bigint,
    source: string,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

export function createChainCertificates({ chain }: { readonly chain: Pick<Chain, "queries"> }): ChainCertificates {
  return {
    async certificateOf(owner, serial) {
      const { items } = await chain.queries.certificates({ owner, serial: `${serial}`, state: "valid" });
      const pem = items[0]?.certificate?.cert;
      return pem && new X509Certificate(pem).raw;
    },
  };
}
