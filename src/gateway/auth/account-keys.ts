/** Which key an account signs with. A key never changes once it is on the chain, so one that is known stays known. */
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import type { Chain } from "../../chain/chain.ts";
import { type Address, addressOf } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { gatewayMissingMs, gatewayUnknownAccounts } from "./chain-certificates.ts";
import type { Lookups } from "./lookups.ts";

export interface AccountKeys {
  /** At once where it is known; `source` is the place that waits. Throws AKP_CHAIN_SILENT where the chain does not answer. */
  keyOf(address: Address, source: string): SigningKey | Promise<SigningKey>;
}

/** The compressed secp256k1 key, 33 bytes; or why there is none to check a signature with. */
export type SigningKey =
  | { readonly kind: "key"; readonly key: Uint8Array }
  | { readonly kind: "none"; readonly why: "no such account" | "it has never signed" | "another kind of key" };

export type KeptKeys = ReturnType<typeof createAccountKeys>;

interface AccountKeysDeps {
  readonly chain: Pick<Chain, "queries">;
  readonly lookups: Lookups;
  /** Lease owners do not wait behind others of the same place. */
  hasLease(address: Address): boolean;
  readonly clock: Clock;
}

export function createAccountKeys({ chain, lookups, hasLease, clock }: AccountKeysDeps) {
  /** Of lease owners: other accounts do not push them out. */
  const kept = new Map<Address, SigningKey>();
  const strangers = createLruCache<{ readonly answer: SigningKey; readonly untilMs: number }>({
    most: gatewayUnknownAccounts,
  });

  async function read(address: Address, signal: AbortSignal): Promise<SigningKey> {
    const { value: account, node } = await chain.queries.account(address, { signal });
    if (!account) return { kind: "none", why: "no such account" };
    if (!account.publicKey) return { kind: "none", why: "it has never signed" };
    const { secp256k1: key } = account.publicKey;
    if (!key) return { kind: "none", why: "another kind of key" };
    // An address is the hash of its key, so a node cannot give a false one.
    if (addressOf(ripemd160(sha256(key))) === address) return { kind: "key", key };
    const reason = `it gives ${address} the key of another account`;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method: "account", reason });
  }

  async function look(address: Address, signal: AbortSignal): Promise<SigningKey> {
    const answer = await read(address, signal);
    const goodForMs = answer.kind === "key" ? Number.POSITIVE_INFINITY : gatewayMissingMs;
    strangers.set(address, { answer, untilMs: clock.monotonicMs() + goodForMs });
    return answer;
  }

  return {
    keyOf(address: Address, source: string): SigningKey | Promise<SigningKey> {
      const ofOwner = kept.get(address);
      if (ofOwner) return ofOwner;
      const known = strangers.get(address);
      if (known && clock.monotonicMs() < known.untilMs) return known.answer;
      const place = hasLease(address) ? address : source;
      return lookups.ask(`the key of ${address}`, place, (signal) => look(address, signal));
    },
    keep(owner: Address, key: Uint8Array): void {
      kept.set(owner, { kind: "key", key });
      strangers.delete(owner);
    },
    release: (owner: Address) => void kept.delete(owner),
    isKept: (owner: Address) => kept.has(owner),
    read,
    get size() {
      return kept.size + strangers.size;
    },
  };
}
