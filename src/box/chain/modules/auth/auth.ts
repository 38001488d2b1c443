/** The auth module: accounts. */
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { invalidArgument, notFound, queriedAddress } from "../../errors.ts";
import type { Context, Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { type Account, accounts, authParams, findAccount, moduleAddress } from "./accounts.ts";

export const authModule: Module = {
  messages: {},
  queries: {
    "/cosmos.auth.v1beta1.Query/Account"(context, bytes) {
      const { address } = cosmos.QueryAccountRequest.decode(bytes);
      return cosmos.QueryAccountResponse.encode({ account: pack(queriedAccount(context, address)) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/AccountInfo"(context, bytes) {
      const { address } = cosmos.QueryAccountInfoRequest.decode(bytes);
      return cosmos.QueryAccountInfoResponse.encode({ info: base(queriedAccount(context, address)) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/Accounts"(context, bytes) {
      const page = paginate(accounts(context), cosmos.QueryAccountsRequest.decode(bytes).pagination);
      return cosmos.QueryAccountsResponse.encode({ ...page, accounts: page.items.map(pack) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/ModuleAccounts"(context) {
      const named = [...accounts(context).entries()].map(([, account]) => account).filter(({ module }) => module);
      named.sort((left, right) => ((left.module?.name ?? "") < (right.module?.name ?? "") ? -1 : 1));
      return cosmos.QueryModuleAccountsResponse.encode({ accounts: named.map(pack) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/ModuleAccountByName"(context, bytes) {
      const { name } = cosmos.QueryModuleAccountByNameRequest.decode(bytes);
      const account = findAccount(context, moduleAddress(name));
      if (!account) throw notFound(`account ${name} not found`);
      return cosmos.QueryModuleAccountByNameResponse.encode({ account: pack(account) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/Params": () =>
      cosmos.QueryParamsResponse.encode({ params: cosmos.Params.fromPartial(authParams) }).finish(),
    "/cosmos.auth.v1beta1.Query/Bech32Prefix": () =>
      cosmos.Bech32PrefixResponse.encode({ bech32Prefix: "akash" }).finish(),
  },
};

function queriedAccount(context: Context, address: string): Account {
  if (address === "") throw invalidArgument("Address cannot be empty");
  const account = findAccount(context, queriedAddress(address));
  if (!account) throw notFound(`account ${address} not found`);
  return account;
}

function pack(account: Account) {
  const { module } = account;
  if (!module) {
    return { typeUrl: "/cosmos.auth.v1beta1.BaseAccount", value: cosmos.BaseAccount.encode(base(account)).finish() };
  }
  const { name, permissions } = module;
  const value = cosmos.ModuleAccount.encode({
    baseAccount: base(account),
    name,
    permissions: [...permissions],
  }).finish();
  return { typeUrl: "/cosmos.auth.v1beta1.ModuleAccount", value };
}

function base({ address, number, sequence, publicKey }: Account): cosmos.BaseAccount {
  const pubKey = publicKey && {
    typeUrl: "/cosmos.crypto.secp256k1.PubKey",
    value: PubKey.encode({ key: publicKey }).finish(),
  };
  return cosmos.BaseAccount.fromPartial({ address, accountNumber: number, sequence, ...(pubKey && { pubKey }) });
}
