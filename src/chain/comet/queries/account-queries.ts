/** Accounts and their money; providers, what auditors say of them, and certificates. */
import {
  type AuditedProvider,
  type CertificateResponse,
  QueryCertificatesRequest,
  QueryCertificatesResponse,
  QueryProviderAttributesRequest,
  QueryProviderAuditorRequest,
  QueryProvidersResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  type Provider,
  QueryProviderRequest,
  QueryProviderResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  QueryAccountInfoRequest,
  QueryAccountInfoResponse,
  QueryAllBalancesRequest,
  QueryAllBalancesResponse,
  QueryBalanceRequest,
  QueryBalanceResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Address, parseAddress } from "../../../market/address.ts";
import type { Coin } from "../../../market/coin.ts";
import type { CertificateFilter } from "../../chain.ts";
import { readUint64 } from "../../codec/wire64.ts";
import type { Account } from "../../records.ts";
import type { Query } from "./abci-query.ts";
import type { ListQuery } from "./paged-list.ts";
import { strange } from "./wire-ids.ts";
import { readCoin } from "./wire-records.ts";

/** Not Query/Account: this one answers alike for accounts of every kind, vesting ones included. */
export const accountQuery: Query<Address, Account> = {
  path: "/cosmos.auth.v1beta1.Query/AccountInfo",
  encode: (address) => QueryAccountInfoRequest.encode({ address }).finish(),
  decode(bytes) {
    const { info } = QueryAccountInfoResponse.decode(bytes);
    if (!info) throw strange("an answer without an account");
    const { accountNumber, sequence } = info;
    return { address: parseAddress(info.address), number: readUint64(accountNumber), sequence: readUint64(sequence) };
  },
};

export const balanceQuery: Query<{ address: Address; denom: string }, Coin> = {
  path: "/cosmos.bank.v1beta1.Query/Balance",
  encode: (request) => QueryBalanceRequest.encode(request).finish(),
  decode: (bytes) => readCoin(QueryBalanceResponse.decode(bytes).balance),
};

export const balancesQuery: ListQuery<Address, Coin> = {
  path: "/cosmos.bank.v1beta1.Query/AllBalances",
  encode: ({ filter, pagination }) =>
    QueryAllBalancesRequest.encode(QueryAllBalancesRequest.fromPartial({ address: filter, pagination })).finish(),
  decode(bytes) {
    const { balances, pagination } = QueryAllBalancesResponse.decode(bytes);
    return { items: balances.map(readCoin), nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};

export const providerQuery: Query<Address, Provider> = {
  path: "/akash.provider.v1beta4.Query/Provider",
  encode: (owner) => QueryProviderRequest.encode({ owner }).finish(),
  decode(bytes) {
    const { provider } = QueryProviderResponse.decode(bytes);
    if (!provider) throw strange("an answer without a provider");
    return provider;
  },
};

/** What every auditor has signed about a provider. */
export const auditedAttributesQuery: ListQuery<Address, AuditedProvider> = {
  path: "/akash.audit.v1.Query/ProviderAttributes",
  encode: ({ filter, pagination }) =>
    QueryProviderAttributesRequest.encode(
      QueryProviderAttributesRequest.fromPartial({ owner: filter, pagination }),
    ).finish(),
  decode(bytes) {
    const { providers, pagination } = QueryProvidersResponse.decode(bytes);
    return { items: providers, nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};

/** What one auditor has signed about a provider. */
export const auditorAttributesQuery: Query<{ auditor: Address; owner: Address }, readonly AuditedProvider[]> = {
  path: "/akash.audit.v1.Query/ProviderAuditorAttributes",
  encode: (request) => QueryProviderAuditorRequest.encode(request).finish(),
  decode: (bytes) => QueryProvidersResponse.decode(bytes).providers,
};

export const certificatesQuery: ListQuery<CertificateFilter, CertificateResponse> = {
  path: "/akash.cert.v1.Query/Certificates",
  encode: ({ filter, pagination }) =>
    QueryCertificatesRequest.encode(QueryCertificatesRequest.fromPartial({ filter, pagination })).finish(),
  decode(bytes) {
    const { certificates, pagination } = QueryCertificatesResponse.decode(bytes);
    return { items: certificates, nextKey: pagination?.nextKey ?? new Uint8Array() };
  },
};
