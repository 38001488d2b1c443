/** Who exists on the chain: keys that have signed or received something, and the modules that hold money. */
import { createHash } from "node:crypto";
import { type Address, addressOf } from "../../../../market/address.ts";
import type { Context } from "../../module.ts";

export interface Account {
  readonly address: string;
  readonly number: bigint;
  readonly sequence: bigint;
  /** The compressed secp256k1 key, known once the account has signed something. */
  readonly publicKey?: Uint8Array;
  /** Set for module accounts, which have no key. */
  readonly module?: ModuleAccount;
}

interface ModuleAccount {
  readonly name: string;
  readonly permissions: readonly string[];
}

/** The parameters that the real chain runs with. */
export const authParams = {
  maxMemoCharacters: 256n,
  txSigLimit: 7n,
  txSizeCostPerByte: 10n,
  sigVerifyCostEd25519: 590n,
  sigVerifyCostSecp256k1: 1000n,
} as const;

/** Modules that hold money on the real chain, with what they may do beside holding it. */
export const moduleAccounts: readonly ModuleAccount[] = [
  { name: "fee_collector", permissions: [] },
  { name: "distribution", permissions: [] },
  { name: "bonded_tokens_pool", permissions: ["burner", "staking"] },
  { name: "not_bonded_tokens_pool", permissions: ["burner", "staking"] },
  { name: "gov", permissions: ["burner"] },
  { name: "mint", permissions: ["minter"] },
  { name: "escrow", permissions: [] },
];

const addresses = new Map<string, Address>();

/** A module's address is the hash of its name; there is no key to it. */
export function moduleAddress(name: string): Address {
  const known = addresses.get(name);
  if (known) return known;
  const address = addressOf(createHash("sha256").update(name).digest().subarray(0, 20));
  addresses.set(name, address);
  return address;
}

export function accounts(context: Context) {
  return context.store.table<Account>("auth/accounts");
}

export function findAccount(context: Context, address: string): Account | undefined {
  return accounts(context).get(address);
}

/** The account, created if it is new: an account exists from the first money it receives. */
export function ensureAccount(context: Context, address: string, module?: ModuleAccount): Account {
  const known = findAccount(context, address);
  if (known) return known;
  const next = context.store.table<bigint>("auth/next-number");
  const number = next.get("") ?? 0n;
  next.set("", number + 1n);
  const account: Account = { address, number, sequence: 0n, ...(module && { module }) };
  saveAccount(context, account);
  return account;
}

/**
 * The real chain also keeps accounts by their number. It reads the old one, deletes and writes that key (6,800), and
 * its records are larger than ours, for they name the types of account and key (1,400).
 */
const numberIndexGas = 8_200n;

export function saveAccount(context: Context, account: Account): void {
  context.useGas(numberIndexGas, "WriteFlat");
  accounts(context).set(account.address, account);
}
