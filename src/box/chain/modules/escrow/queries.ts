/** Lists of accounts and payments. */
import {
  QueryAccountsRequest,
  QueryAccountsResponse,
  QueryPaymentsRequest,
  QueryPaymentsResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { askedStates, decodePageKey, firstPage, type Listed, type Walk } from "../../akash-paging.ts";
import type { QueryHandler } from "../../module.ts";
import { invalidArgument } from "../../refusals.ts";
import type { Table } from "../../store.ts";
import { accounts, type EscrowState, escrowStates, payments } from "./records.ts";
import { writeAccount, writePayment } from "./wire.ts";

export const escrowQueries: Record<string, QueryHandler> = {
  "/akash.escrow.v1.Query/Accounts": (context, request) => {
    const { items, pagination } = listByState(accounts(context), accountPrefix, QueryAccountsRequest.decode(request));
    return QueryAccountsResponse.encode({ accounts: items.map(writeAccount), pagination }).finish();
  },
  "/akash.escrow.v1.Query/Payments": (context, request) => {
    const { items, pagination } = listByState(payments(context), paymentPrefix, QueryPaymentsRequest.decode(request));
    return QueryPaymentsResponse.encode({ payments: items.map(writePayment), pagination }).finish();
  },
};

/** Where accounts and payments begin in the chain's own store; clients see it inside of page keys. */
const accountPrefix = [0x11, 0x00];
const paymentPrefix = [0x12, 0x00];

interface ListRequest {
  readonly state: string;
  /** What the name must begin with, the scope included. */
  readonly xid: string;
  readonly pagination?: PageRequest | undefined;
}

interface Start {
  readonly states: readonly number[];
  /** Where the first of the states begins; the others begin at the request's xid. */
  readonly prefix: string;
  readonly key: string;
}

function listByState<T extends { key: string; state: EscrowState }>(
  table: Table<T>,
  storePrefix: readonly number[],
  { state, xid, pagination }: ListRequest,
): Listed<T> {
  const start: Start = pagination?.key.length
    ? resume(pagination.key, storePrefix)
    : { states: askedStates(escrowStates, state), prefix: xid, key: "" };
  const walks = start.states.map((wanted, index): Walk<T> => {
    const prefix = index === 0 ? start.prefix : xid;
    return {
      entries: table.entries(prefix, index === 0 ? prefix + start.key : xid),
      isWanted: (item) => escrowStates[item.state] === wanted,
      keyAt: (key) => ({
        states: Uint8Array.from(start.states.slice(index)),
        // In the chain's store a slash stands between the state and the name.
        prefix: Buffer.concat([Buffer.from([...storePrefix, wanted]), Buffer.from(prefix && `/${prefix}`)]),
        key: Buffer.from(prefix === "" ? `/${key}` : key.slice(prefix.length)),
      }),
    };
  });
  return firstPage(walks, pagination && { limit: pagination.limit });
}

function resume(pageKey: Uint8Array, storePrefix: readonly number[]): Start {
  const { states, prefix, key } = decodePageKey(pageKey);
  const known: readonly number[] = Object.values(escrowStates);
  if (!states.every((state) => known.includes(state))) throw invalidArgument("malformed key");
  const text = Buffer.from(prefix.subarray(storePrefix.length + 1)).toString();
  const rest = Buffer.from(key).toString();
  // Without a prefix the slash before the name is in the key; with one, a slash there is part of the name.
  return { states: [...states], prefix: text.replace(/^\//, ""), key: text === "" ? rest.replace(/^\//, "") : rest };
}
