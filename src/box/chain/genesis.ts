/** Genesis: chain id, start time and balances. */
import { parseAddress } from "../../market/address.ts";
import type { Coin } from "../../market/coin.ts";
import type { Context } from "./module.ts";
import { ensureAccount, moduleAccounts, moduleAddress } from "./modules/auth/accounts.ts";
import { issue } from "./modules/bank/balances.ts";

export interface Genesis {
  readonly chainId: string;
  readonly timeNs: bigint;
  /** Height of the first block; 1 unless the chain carries on another's count. */
  readonly initialHeight?: bigint;
  readonly accounts: readonly GenesisAccount[];
  /** Whether unordered transactions are enabled; true if not given. */
  readonly unordered?: boolean;
}

interface GenesisAccount {
  readonly address: string;
  readonly coins: readonly Coin[];
}

export function applyGenesis(context: Context, { accounts }: Genesis): void {
  for (const { address, coins } of accounts) {
    ensureAccount(context, parseAddress(address));
    issue(context, parseAddress(address), coins);
  }
  for (const module of moduleAccounts) ensureAccount(context, moduleAddress(module.name), module);
}
