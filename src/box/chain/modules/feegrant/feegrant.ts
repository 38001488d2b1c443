/** The module of fee allowances: who may spend whose money on fees. Only the basic kind: an amount, a last day, or neither. */
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import type { Coin } from "../../../../market/coin.ts";
import { msToNs } from "../../../../runtime/clock.ts";
import { areValidCoins, readCoins, writeCoin } from "../../coins.ts";
import { sdkError } from "../../errors.ts";
import { plainEvent } from "../../events.ts";
import { ChainError, type Context, type Module, messageEntry } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { ensureAccount } from "../auth/accounts.ts";

const basicUrl = "/cosmos.feegrant.v1beta1.BasicAllowance";

export const feegrantModule: Module = {
  messages: {
    "/cosmos.feegrant.v1beta1.MsgGrantAllowance": messageEntry(cosmos.MsgGrantAllowance, {
      signer(message) {
        decodeBasic(message);
        parseAddress(message.grantee);
        return message.granter;
      },
      read: (wire) => wire,
      handle: grant,
    }),
    "/cosmos.feegrant.v1beta1.MsgRevokeAllowance": messageEntry(cosmos.MsgRevokeAllowance, {
      signer: ({ granter }) => granter,
      read: (wire) => wire,
      handle: revoke,
    }),
  },
  queries: {
    "/cosmos.feegrant.v1beta1.Query/Allowance"(context, bytes) {
      const { granter, grantee } = cosmos.QueryAllowanceRequest.decode(bytes);
      const found = allowances(context).get(allowanceKey(granter, grantee));
      if (!found) throw sdkError("unknownRequest", "rpc error: code = Internal desc = fee-grant not found: not found");
      return cosmos.QueryAllowanceResponse.encode({ allowance: writeGrant(found) }).finish();
    },
    "/cosmos.feegrant.v1beta1.Query/Allowances"(context, bytes) {
      const { grantee, pagination } = cosmos.QueryAllowancesRequest.decode(bytes);
      const page = paginate(allowances(context), pagination, { prefix: `${grantee}/` });
      return cosmos.QueryAllowancesResponse.encode({ ...page, allowances: page.items.map(writeGrant) }).finish();
    },
    "/cosmos.feegrant.v1beta1.Query/AllowancesByGranter"(context, bytes) {
      const { granter, pagination } = cosmos.QueryAllowancesByGranterRequest.decode(bytes);
      const page = paginate(allowances(context), pagination, { where: (each) => each.granter === granter });
      return cosmos.QueryAllowancesByGranterResponse.encode({
        ...page,
        allowances: page.items.map(writeGrant),
      }).finish();
    },
  },
  endBlock(context) {
    const expired = [...allowances(context).entries()].filter(([, allowance]) => hasExpired(allowance, context));
    for (const [key] of expired) allowances(context).delete(key);
  },
};

interface Allowance {
  readonly granter: string;
  readonly grantee: string;
  readonly basic: cosmos.BasicAllowance;
}

/** Keys are "grantee/granter". */
function allowances(context: Context) {
  return context.store.table<Allowance>("feegrant/allowances");
}

function allowanceKey(granter: string, grantee: string): string {
  return `${grantee}/${granter}`;
}

function hasExpired({ basic }: Allowance, { timeNs }: Context): boolean {
  return basic.expiration !== undefined && msToNs(basic.expiration.getTime()) < timeNs;
}

/** Takes a fee off what is left; an allowance that is used up is gone. */
export function useAllowance(context: Context, granter: string, grantee: string, fee: readonly Coin[]): void {
  const notAllowed = (codespace: string, code: number, reason: string) =>
    new ChainError(codespace, code, `${granter} does not allow to pay fees for ${grantee}: ${reason}`);
  const key = allowanceKey(granter, grantee);
  const allowance = allowances(context).get(key);
  if (!allowance) {
    const { codespace, code, message } = sdkError("notFound", "fee-grant not found");
    throw notAllowed(codespace, code, message);
  }
  if (hasExpired(allowance, context)) throw notAllowed("feegrant", 3, "basic allowance: fee allowance expired");
  const limited = allowance.basic.spendLimit.length > 0;
  const left = limited ? subtract(readCoins(allowance.basic.spendLimit), fee) : [];
  if (!left) throw notAllowed("feegrant", 2, "basic allowance: fee limit exceeded");
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

function grant(context: Context, message: cosmos.MsgGrantAllowance): void {
  const { granter, grantee } = message;
  if (granter === grantee) throw sdkError("invalidAddress", "cannot self-grant fee authorization");
  const key = allowanceKey(granter, grantee);
  if (allowances(context).has(key)) throw sdkError("invalidRequest", "fee allowance already exists");
  const allowance: Allowance = { granter, grantee, basic: decodeBasic(message) };
  const limit = readCoins(allowance.basic.spendLimit);
  if (!areValidCoins(limit)) throw sdkError("invalidCoins", "spend limit must be positive");
  if (hasExpired(allowance, context)) throw sdkError("invalidRequest", "expiration is before current block time");
  ensureAccount(context, grantee);
  allowances(context).set(key, allowance);
  context.emit(plainEvent("set_feegrant", { granter, grantee }));
}

function revoke(context: Context, { granter, grantee }: cosmos.MsgRevokeAllowance): void {
  const key = allowanceKey(granter, grantee);
  if (!allowances(context).has(key)) throw sdkError("notFound", "fee-grant not found");
  allowances(context).delete(key);
  context.emit(plainEvent("revoke_feegrant", { granter, grantee }));
}

function decodeBasic({ allowance }: cosmos.MsgGrantAllowance): cosmos.BasicAllowance {
  if (allowance?.typeUrl !== basicUrl) throw new Error(`unable to resolve type URL ${allowance?.typeUrl ?? ""}`);
  return cosmos.BasicAllowance.decode(allowance.value);
}

function writeGrant({ granter, grantee, basic }: Allowance) {
  return { granter, grantee, allowance: { typeUrl: basicUrl, value: cosmos.BasicAllowance.encode(basic).finish() } };
}
