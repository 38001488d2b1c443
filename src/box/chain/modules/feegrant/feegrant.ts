/** The module of fee allowances: granting, taking back, looking up. */
import {
  BasicAllowance,
  MsgGrantAllowance,
  MsgGrantAllowanceResponse,
  MsgRevokeAllowance,
  MsgRevokeAllowanceResponse,
  QueryAllowanceRequest,
  QueryAllowanceResponse,
  QueryAllowancesByGranterRequest,
  QueryAllowancesByGranterResponse,
  QueryAllowancesRequest,
  QueryAllowancesResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../../../market/address.ts";
import { areValidCoins, readCoins } from "../../coins.ts";
import { plainEvent } from "../../events.ts";
import type { Context, Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { sdkRefusal } from "../../refusals.ts";
import { ensureAccount } from "../auth/accounts.ts";
import { type Allowance, allowanceKey, allowances, hasExpired } from "./allowances.ts";

const basicUrl = "/cosmos.feegrant.v1beta1.BasicAllowance";

export const feegrantModule: Module = {
  name: "feegrant",
  messages: {
    "/cosmos.feegrant.v1beta1.MsgGrantAllowance": {
      signers(bytes) {
        const message = MsgGrantAllowance.decode(bytes);
        decodeBasic(message);
        parseAddress(message.grantee);
        return [message.granter];
      },
      handle(context, bytes) {
        grant(context, MsgGrantAllowance.decode(bytes));
        return MsgGrantAllowanceResponse.encode({}).finish();
      },
    },
    "/cosmos.feegrant.v1beta1.MsgRevokeAllowance": {
      signers: (bytes) => [MsgRevokeAllowance.decode(bytes).granter],
      handle(context, bytes) {
        revoke(context, MsgRevokeAllowance.decode(bytes));
        return MsgRevokeAllowanceResponse.encode({}).finish();
      },
    },
  },
  queries: {
    "/cosmos.feegrant.v1beta1.Query/Allowance"(context, bytes) {
      const { granter, grantee } = QueryAllowanceRequest.decode(bytes);
      const found = allowances(context).get(allowanceKey(granter, grantee));
      if (!found)
        throw sdkRefusal("unknownRequest", "rpc error: code = Internal desc = fee-grant not found: not found");
      return QueryAllowanceResponse.encode({ allowance: writeGrant(found) }).finish();
    },
    "/cosmos.feegrant.v1beta1.Query/Allowances"(context, bytes) {
      const { grantee, pagination } = QueryAllowancesRequest.decode(bytes);
      const page = paginate(allowances(context), pagination, { prefix: `${grantee}/` });
      const found = { allowances: page.items.map(writeGrant), pagination: page.pagination };
      return QueryAllowancesResponse.encode(found).finish();
    },
    "/cosmos.feegrant.v1beta1.Query/AllowancesByGranter"(context, bytes) {
      const { granter, pagination } = QueryAllowancesByGranterRequest.decode(bytes);
      const page = paginate(allowances(context), pagination, { where: (each) => each.granter === granter });
      const found = { allowances: page.items.map(writeGrant), pagination: page.pagination };
      return QueryAllowancesByGranterResponse.encode(found).finish();
    },
  },
  endBlock(context) {
    const expired = [...allowances(context).entries()].filter(([, allowance]) => hasExpired(allowance, context));
    for (const [key] of expired) allowances(context).delete(key);
  },
};

function grant(context: Context, message: MsgGrantAllowance): void {
  const { granter, grantee } = message;
  if (granter === grantee) throw sdkRefusal("invalidAddress", "cannot self-grant fee authorization");
  const key = allowanceKey(granter, grantee);
  if (allowances(context).has(key)) throw sdkRefusal("invalidRequest", "fee allowance already exists");
  const allowance: Allowance = { granter, grantee, basic: decodeBasic(message) };
  const limit = readCoins(allowance.basic.spendLimit);
  if (!areValidCoins(limit)) throw sdkRefusal("invalidCoins", "spend limit must be positive");
  if (hasExpired(allowance, context)) throw sdkRefusal("invalidRequest", "expiration is before current block time");
  ensureAccount(context, grantee);
  allowances(context).set(key, allowance);
  context.emit(plainEvent("set_feegrant", { granter, grantee }));
}

function revoke(context: Context, { granter, grantee }: MsgRevokeAllowance): void {
  const key = allowanceKey(granter, grantee);
  if (!allowances(context).has(key)) throw sdkRefusal("notFound", "fee-grant not found");
  allowances(context).delete(key);
  context.emit(plainEvent("revoke_feegrant", { granter, grantee }));
}

function decodeBasic({ allowance }: MsgGrantAllowance): BasicAllowance {
  if (allowance?.typeUrl !== basicUrl) throw new Error(`unable to resolve type URL ${allowance?.typeUrl ?? ""}`);
  return BasicAllowance.decode(allowance.value);
}

function writeGrant({ granter, grantee, basic }: Allowance) {
  return { granter, grantee, allowance: { typeUrl: basicUrl, value: BasicAllowance.encode(basic).finish() } };
}
