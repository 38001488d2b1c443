/** Which key an account signs with. A key never changes once it is on the chain. */
import type { Chain } from "../../chain/chain.ts";
import type { Address } from "../../market/address.ts";

export interface AccountKeys {
  /**
   * At once where it is known. `source` says where the question comes from, so that no place can take all turns. Throws
   * AKP_CHAIN_SILENT where the chain would have to be asked and does not answer.
   */
  keyOf(address: Address, source: string): AccountKey | Promise<AccountKey>;
}

/** The compressed secp256k1 key, 33 bytes; or why there is none to check a signature with. */
export type AccountKey =
  | { readonly kind: "key"; readonly key: Uint8Array }
  | { readonly kind: "none"; readonly why: "no such account" | "it has never signed" | "another kind of key" };

export function createAccountKeys({ chain }: { readonly chain: Pick<Chain, "queries"> }): AccountKeys {
  return {
    async keyOf(address) {
      const { value: account } = await chain.queries.account(address);
      if (!account) return { kind: "none", why: "no such account" };
      const { publicKey } = account;
      if (!publicKey) return { kind: "none", why: "it has never signed" };
      if (!publicKey.secp256k1) return { kind: "none", why: "another kind of key" };
      return { kind: "key", key: publicKey.secp256k1 };
    },
  };
}
