/** Which key an account signs with. A key never changes once it is on the chain, so one that is known stays known. */
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import type { Chain } from "../../chain/chain.ts";
import { type Address, addressOf } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createRecent } from "../../runtime/recent.ts";
import { gatewayMissingMs, gatewayStrangers } from "./chain-certificates.ts";
import type { Lookups } from "./lookups.ts";

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

/** The same for those who have leases with us: theirs are not pushed out by others. */
export interface KeptKeys extends AccountKeys {
  keep(owner: Address, key: Uint8Array): void;
  release(owner: Address): void;
  isKept(owner: Address): boolean;
  /** Asks the chain, whatever is known. */
  read(address: Address, signal: AbortSignal): Promise<AccountKey>;
  /** Accounts of which anything is remembered. */
  readonly size: number;
}

interface AccountKeysDeps {
  readonly chain: Pick<Chain, "queries">;
  readonly lookups: Lookups;
  /** Whether it has a lease with us, so that it waits behind no stranger, even from the same place. */
  hasLease(address: Address): boolean;
  readonly clock: Clock;
}

export function createAccountKeys({ chain, lookups, hasLease, clock }: AccountKeysDeps): KeptKeys {
  const kept = new Map<Address, AccountKey>();
  const strangers = createRecent<AccountKey>({ most: gatewayStrangers });
  const missing = createRecent<{ readonly answer: AccountKey; readonly untilMs: number }>({
    most: gatewayStrangers,
  });

  async function read(address: Address, signal: AbortSignal): Promise<AccountKey> {
    const { value: account, node } = await chain.queries.account(address, { signal });
    if (!account) return { kind: "none", why: "no such account" };
    const { publicKey } = account;
    if (!publicKey) return { kind: "none", why: "it has never signed" };
    const { secp256k1: key } = publicKey;
    if (!key) return { kind: "none", why: "another kind of key" };
    // An address is the hash of its key: no node can have a stranger taken for somebody.
    if (addressOf(ripemd160(sha256(key))) === address) return { kind: "key", key };
    const reason = `it gives ${address} the key of another account`;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method: "account", reason });
  }

  function learn(address: Address, answer: AccountKey): AccountKey {
    if (answer.kind === "key") strangers.set(address, answer);
    else missing.set(address, { answer, untilMs: clock.monotonicMs() + gatewayMissingMs });
    return answer;
  }

  return {
    keyOf(address, source) {
      const known = kept.get(address) ?? strangers.get(address);
      if (known) return known;
      const none = missing.get(address);
      if (none && clock.monotonicMs() < none.untilMs) return none.answer;
      const look = async (signal: AbortSignal) => learn(address, await read(address, signal));
      return lookups.ask(`the key of ${address}`, hasLease(address) ? address : source, look);
    },
    keep(owner, key) {
      kept.set(owner, { kind: "key", key });
      strangers.delete(owner);
    },
    release: (owner) => void kept.delete(owner),
    isKept: (owner) => kept.has(owner),
    read,
    get size() {
      return kept.size + strangers.size + missing.size;
    },
  };
}
