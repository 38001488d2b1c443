/** Who may spend whose money on fees. Only the basic kind: an amount, a last day, or neither. */
import type { BasicAllowance } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { Coin } from "../../../../market/coin.ts";
import { readCoins, writeCoin } from "../../coins.ts";
import { plainEvent } from "../../events.ts";
import { ChainRefusal, type Context } from "../../module.ts";
import { sdkRefusal } from "../../refusals.ts";

export interface Allowance {
  readonly granter: string;
  readonly grantee: string;
  readonly basic: BasicAllowance;
}

/** Keys are "grantee/granter". */
export function allowances(context: Context) {
  return context.store.table<Allowance>("feegrant/allowances");
}

export function allowanceKey(granter: string, grantee: string): string {
  return `${grantee}/${granter}`;
}

export function hasExpired({ basic }: Allowance, { timeNs }: Context): boolean {
  return basic.expiration !== undefined && BigInt(basic.expiration.getTime()) * 1_000_000n < timeNs;
}

/** Takes a fee off what is left; an allowance that is used up is gone. */
export function useAllowance(context: Context, granter: string, grantee: string, fee: readonly Coin[]): void {
  const refuse = (codespace: string, code: number, reason: string) =>
    new ChainRefusal(codespace, code, `${granter} does not allow to pay fees for ${grantee}: ${reason}`);
  const key = allowanceKey(granter, grantee);
  const allowance = allowances(context).get(key);
  if (!allowance) {
    const { codespace, code, message } = sdkRefusal("notFound", "fee-grant not found");
    throw refuse(codespace, code, message);
  }
  if (hasExpired(allowance, context)) throw refuse("feegrant", 3, "basic allowance: fee allowance expired");
  const limited = allowance.basic.spendLimit.length > 0;
  const left = limited ? subtract(readCoins(allowance.basic.spendLimit), fee) : [];
  if (!left) throw refuse("feegrant", 2, "basic allowance: fee limit exceeded");
  if (limited && left.length === 0) {
    allowances(context).delete(key);
    context.emit(plainEvent("revoke_feegrant", { granter, grantee }));
  } else {
    allowances(context).set(key, { ...allowance, basic: { ...allowance.basic, spendLimit: left.map(writeCoin) } });
  }
  context.emit(plainEvent("use_feegrant", { granter, grantee }));
}

/** What is left of each denom, without those of which nothing is; undefined when it is not enough. */
function subtract(from: readonly Coin[], taken: readonly Coin[]): Coin[] | undefined {
  const left = new Map(from.map(({ denom, amount }) => [denom, amount]));
  for (const { denom, amount } of taken) left.set(denom, (left.get(denom) ?? 0n) - amount);
  if ([...left.values()].some((amount) => amount < 0n)) return undefined;
  return [...left].filter(([, amount]) => amount > 0n).map(([denom, amount]) => ({ denom, amount }));
}
