/** Lists of accounts and payments. */
import {
  QueryAccountsRequest,
  QueryAccountsResponse,
  QueryPaymentsRequest,
  QueryPaymentsResponse,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest, PageResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { PageResponse as PageResponseCodec } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { QueryHandler } from "../../module.ts";
import { decodePageKey, encodePageKey } from "../../page-key.ts";
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
const defaultLimit = 100;

interface ListRequest {
  readonly state: string;
  /** What the name must begin with, the scope included. */
  readonly xid: string;
  readonly pagination?: PageRequest | undefined;
}

interface Start {
  readonly states: readonly EscrowState[];
  /** Where the first of the states begins; the others begin at the request's xid. */
  readonly prefix: string;
  readonly key: string;
}

function listByState<T extends { key: string; state: EscrowState }>(
  table: Table<T>,
  storePrefix: readonly number[],
  { state, xid, pagination }: ListRequest,
): { items: T[]; pagination: PageResponse } {
  const limit = pagination?.limit.toNumber() || defaultLimit;
  const pageKey = pagination?.key ?? new Uint8Array();
  const start = pageKey.length > 0 ? resume(pageKey, storePrefix) : begin(state, xid);
  const items: T[] = [];
  for (const [index, wanted] of start.states.entries()) {
    const prefix = index === 0 ? start.prefix : xid;
    const from = index === 0 ? start.prefix + start.key : xid;
    for (const [key, item] of table.entries(prefix, from)) {
      if (item.state !== wanted) continue;
      if (items.length < limit) {
        items.push(item);
        continue;
      }
      const nextKey = encodePageKey({
        states: Uint8Array.from(start.states.slice(index), (name) => escrowStates[name]),
        prefix: Buffer.concat([Buffer.from([...storePrefix, escrowStates[wanted]]), Buffer.from(slashed(prefix))]),
        key: Buffer.from(prefix === "" ? `/${key}` : key.slice(prefix.length)),
        path: new Uint8Array(),
      });
      return { items, pagination: PageResponseCodec.fromPartial({ total: items.length, nextKey }) };
    }
  }
  return { items, pagination: PageResponseCodec.fromPartial({ total: items.length }) };
}

function begin(state: string, xid: string): Start {
  const all = Object.keys(escrowStates) as EscrowState[];
  if (state === "") return { states: all, prefix: xid, key: "" };
  const wanted = all.find((name) => name === state);
  if (!wanted) throw invalidArgument("invalid state value");
  return { states: [wanted], prefix: xid, key: "" };
}

function resume(pageKey: Uint8Array, storePrefix: readonly number[]): Start {
  const { states, prefix, key } = decodePageKey(pageKey);
  const names = Object.entries(escrowStates) as [EscrowState, number][];
  const wanted = Array.from(states, (number) => names.find(([, known]) => known === number)?.[0]);
  const text = Buffer.from(prefix)
    .subarray(storePrefix.length + 1)
    .toString();
  if (wanted.includes(undefined)) throw invalidArgument("malformed key");
  const rest = Buffer.from(key).toString();
  return {
    states: wanted.filter((name) => name !== undefined),
    prefix: text.replace(/^\//, ""),
    // Without a prefix the slash before the name is in the key; with one, a slash there is part of the name.
    key: text === "" ? rest.replace(/^\//, "") : rest,
  };
}

/** In the chain's store a slash stands between the state and the name. */
function slashed(prefix: string): string {
  return prefix === "" ? "" : `/${prefix}`;
}
