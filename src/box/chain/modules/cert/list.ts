/** Lists of certificates, valid ones before revoked ones. The key of the next page holds the filters too. */
import type { CertificateFilter } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  type PageRequest,
  type PageResponse,
  PageResponse as PageResponseCodec,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { decodePageKey, encodePageKey } from "../../page-key.ts";
import { askedAddress, invalidArgument } from "../../refusals.ts";
import type { Table } from "../../store.ts";

interface Start {
  readonly states: readonly number[];
  /** What follows the state in the keys that are wanted. */
  readonly search: string;
  readonly from?: string;
}

const states: Readonly<Record<string, number>> = { valid: 1, revoked: 2 };
const defaultLimit = 100;

/** Keys of the table are "state/owner/serial/". */
export function listCertificates<T>(
  table: Table<T>,
  filter: CertificateFilter | undefined,
  request: PageRequest | undefined,
): { items: T[]; pagination: PageResponse } {
  if (request && !request.offset.isZero() && !filter?.state) {
    throw invalidArgument("invalid request parameters. if offset is set, filter.state must be provided");
  }
  const start = request?.key.length ? resume(request.key) : begin(filter);
  const limit = request?.limit.toNumber() || defaultLimit;
  let skip = request?.offset.toNumber() ?? 0;
  const items: T[] = [];
  for (const [index, state] of start.states.entries()) {
    for (const [key, item] of table.entries(`${state}/${start.search}`, index === 0 ? start.from : undefined)) {
      if (skip > 0) skip -= 1;
      else if (items.length < limit) items.push(item);
      else return { items, pagination: page(items, nextKey(start.states.slice(index), start.search, key)) };
    }
  }
  return { items, pagination: page(items) };
}

function begin(filter: CertificateFilter | undefined): Start {
  const { owner = "", serial = "", state = "" } = filter ?? {};
  if (state !== "" && !(state in states)) throw invalidArgument("invalid state value");
  const path = [...(owner ? [askedAddress(owner)] : []), ...(owner && serial ? [serial] : [])];
  return {
    states: Object.keys(states)
      .filter((name) => state === "" || name === state)
      .map((name) => states[name] ?? 0),
    search: path.map((part) => `${part}/`).join(""),
  };
}

function resume(pageKey: Uint8Array): Start {
  const { states, prefix, key } = decodePageKey(pageKey);
  return { states: [...states], search: Buffer.from(prefix).toString(), from: Buffer.from(key).toString() };
}

function nextKey(states: readonly number[], search: string, key: string): Uint8Array {
  const none = new Uint8Array();
  return encodePageKey({
    states: Uint8Array.from(states),
    prefix: Buffer.from(search),
    key: Buffer.from(key),
    path: none,
  });
}

/** What the chain calls the total is the length of this page. */
function page(items: readonly unknown[], nextKey?: Uint8Array): PageResponse {
  return PageResponseCodec.fromPartial({ total: items.length, ...(nextKey && { nextKey }) });
}
