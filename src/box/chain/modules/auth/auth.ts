/** The module that tells who exists. */
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import {
  BaseAccount,
  Bech32PrefixResponse,
  ModuleAccount,
  Params,
  QueryAccountInfoRequest,
  QueryAccountInfoResponse,
  QueryAccountRequest,
  QueryAccountResponse,
  QueryAccountsRequest,
  QueryAccountsResponse,
  QueryModuleAccountByNameRequest,
  QueryModuleAccountByNameResponse,
  QueryModuleAccountsResponse,
  QueryParamsResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { Context, Module } from "../../module.ts";
import { paginate } from "../../paging.ts";
import { askedAddress, invalidArgument, notFound } from "../../refusals.ts";
import { type Account, accounts, authParams, findAccount, moduleAddress } from "./accounts.ts";

export const authModule: Module = {
  name: "auth",
  messages: {},
  queries: {
    "/cosmos.auth.v1beta1.Query/Account"(context, bytes) {
      const { address } = QueryAccountRequest.decode(bytes);
      return QueryAccountResponse.encode({ account: pack(askedAccount(context, address)) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/AccountInfo"(context, bytes) {
      const { address } = QueryAccountInfoRequest.decode(bytes);
      return QueryAccountInfoResponse.encode({ info: base(askedAccount(context, address)) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/Accounts"(context, bytes) {
      const page = paginate(accounts(context), QueryAccountsRequest.decode(bytes).pagination);
      const found = { accounts: page.items.map(pack), pagination: page.pagination };
      return QueryAccountsResponse.encode(found).finish();
    },
    "/cosmos.auth.v1beta1.Query/ModuleAccounts"(context) {
      const named = [...accounts(context).entries()].map(([, account]) => account).filter(({ module }) => module);
      named.sort((left, right) => ((left.module?.name ?? "") < (right.module?.name ?? "") ? -1 : 1));
      return QueryModuleAccountsResponse.encode({ accounts: named.map(pack) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/ModuleAccountByName"(context, bytes) {
      const { name } = QueryModuleAccountByNameRequest.decode(bytes);
      const account = findAccount(context, moduleAddress(name));
      if (!account) throw notFound(`account ${name} not found`);
      return QueryModuleAccountByNameResponse.encode({ account: pack(account) }).finish();
    },
    "/cosmos.auth.v1beta1.Query/Params": () =>
      QueryParamsResponse.encode({ params: Params.fromPartial(authParams) }).finish(),
    "/cosmos.auth.v1beta1.Query/Bech32Prefix": () => Bech32PrefixResponse.encode({ bech32Prefix: "akash" }).finish(),
  },
};

function askedAccount(context: Context, address: string): Account {
  if (address === "") throw invalidArgument("Address cannot be empty");
  const account = findAccount(context, askedAddress(address));
  if (!account) throw notFound(`account ${address} not found`);
  return account;
}

function pack(account: Account) {
  const { module } = account;
  if (!module) {
    return { typeUrl: "/cosmos.auth.v1beta1.BaseAccount", value: BaseAccount.encode(base(account)).finish() };
  }
  const { name, permissions } = module;
  const value = ModuleAccount.encode({ baseAccount: base(account), name, permissions: [...permissions] }).finish();
  return { typeUrl: "/cosmos.auth.v1beta1.ModuleAccount", value };
}

function base({ address, number, sequence, publicKey }: Account): BaseAccount {
  const pubKey = publicKey && {
    typeUrl: "/cosmos.crypto.secp256k1.PubKey",
    value: PubKey.encode({ key: publicKey }).finish(),
  };
  return BaseAccount.fromPartial({ address, accountNumber: number, sequence, ...(pubKey && { pubKey }) });
}
