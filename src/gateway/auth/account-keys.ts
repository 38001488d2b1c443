/** The keys that accounts sign with. A key never changes once it is on the chain, so one that was read is not read again. */
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import type { Chain } from "../../chain/chain.ts";
import { type Address, addressOf } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { gatewayMissingMs, gatewayUnknownAccounts } from "./chain-certificates.ts";
import type { Lookups } from "./lookups.ts";

/** Compressed secp256k1, 33 bytes; undefined where the account has none of this kind, or has never signed. */
export type SigningKey = Uint8Array | undefined;

export type AccountKeys = ReturnType<typeof createAccountKeys>;

interface AccountKeysDeps {
  readonly chain: Pick<Chain, "queries">;
  readonly lookups: Lookups;
  hasLease(address: Address): boolean;
  readonly clock: Clock;
}

export function createAccountKeys({ chain, lookups, hasLease, clock }: AccountKeysDeps) {
  /** Of lease owners: other accounts do not evict them. */
  const kept = new Map<Address, Uint8Array>();
  const others = createLruCache<{ readonly key: SigningKey; readonly untilMs: number }>({
    most: gatewayUnknownAccounts,
  });

  async function read(address: Address, signal: AbortSignal): Promise<SigningKey> {
    const { value: account, node } = await chain.queries.account(address, { signal });
    const key = account?.publicKey?.secp256k1;
    // An address is the hash of its key, so a node cannot give a false one.
    if (!key || addressOf(ripemd160(sha256(key))) === address) return key;
    const reason = `it gives ${address} the key of another account`;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method: "account", reason });
  }

  return {
    /** At once where it is cached; `source` is the rate limit key of the client. Throws AKP_CHAIN_SILENT. */
    keyOf(address: Address, source: string): SigningKey | Promise<SigningKey> {
      const ofOwner = kept.get(address);
      if (ofOwner) return ofOwner;
      const known = others.get(address);
      if (known && clock.monotonicMs() < known.untilMs) return known.key;
      // Lease owners do not wait behind other clients of the same source.
      return lookups.run(`the key of ${address}`, hasLease(address) ? address : source, async (signal) => {
        const key = await read(address, signal);
        others.set(address, { key, untilMs: key ? Number.POSITIVE_INFINITY : clock.monotonicMs() + gatewayMissingMs });
        return key;
      });
    },
    keep(owner: Address, key: Uint8Array): void {
      kept.set(owner, key);
      others.delete(owner);
    },
    release: (owner: Address) => void kept.delete(owner),
    isKept: (owner: Address) => kept.has(owner),
    read,
    get size() {
      return kept.size + others.size;
    },
  };
}
