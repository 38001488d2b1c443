/** The module of escrow: anyone may put money into the account of any deployment or bid, and list accounts and payments. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { decodePageKey, firstPage, type ListedPage, stateValues, type Walk } from "../../akash-paging.ts";
import { invalidArgument, isAddress, uncoded } from "../../errors.ts";
import { type Module, messageEntry } from "../../module.ts";
import type { Table } from "../../store.ts";
import { authorizeDeposit, readAmount, validateSources } from "./deposits.ts";
import { escrowError } from "./errors.ts";
import type { Escrow } from "./escrow.ts";
import { splitAccountKey } from "./ids.ts";
import { type EscrowState, escrowAccounts, escrowStates, payments } from "./records.ts";
import { readAccountKey, writeAccount, writePayment } from "./wire.ts";

export function escrowModule(escrow: Escrow, closeDryLeasesInEndBlock: boolean): Module {
  return {
    messages: {
      "/akash.escrow.v1.MsgAccountDeposit": messageEntry(akash.MsgAccountDeposit, {
        signer: ({ signer }) => signer,
        read({ signer, id, deposit: wire }) {
          if (!isAddress(signer)) throw uncoded(`${signer} is not an address`);
          const key = readAccountKey(id);
          const deposit = { ...readAmount(wire), sources: wire?.sources ?? [] };
          if (deposit.amount === 0n) throw escrowError("invalidDeposit");
          validateSources(deposit.sources);
          return { signer, key, deposit };
        },
        handle(context, { signer, key, deposit }) {
          escrow.deposit(context, key, authorizeDeposit(context, signer, splitAccountKey(key).scope, deposit));
        },
      }),
    },
    queries: {
      "/akash.escrow.v1.Query/Accounts": (context, bytes) => {
        const page = listByState(escrowAccounts(context), accountPrefix, akash.QueryAccountsRequest.decode(bytes));
        return akash.QueryAccountsResponse.encode({ ...page, accounts: page.items.map(writeAccount) }).finish();
      },
      "/akash.escrow.v1.Query/Payments": (context, bytes) => {
        const page = listByState(payments(context), paymentPrefix, akash.QueryPaymentsRequest.decode(bytes));
        return akash.QueryPaymentsResponse.encode({ ...page, payments: page.items.map(writePayment) }).finish();
      },
    },
    ...(closeDryLeasesInEndBlock && { endBlock: escrow.endDryAccounts }),
  };
}

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
): ListedPage<T> {
  const start: Start = pagination?.key.length
    ? resume(pagination.key, storePrefix)
    : { states: stateValues(escrowStates, state), prefix: xid, key: "" };
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
