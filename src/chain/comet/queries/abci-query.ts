/** A gRPC query by its path and protobuf bytes, over RPC: for one thing, or for a whole list. */
import {
  type PageRequest,
  PageRequest as PageRequestCodec,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import type { At, Listed, QueryOptions } from "../../chain.ts";
import type { Pool } from "../pool.ts";
import { readHeight, reading } from "../rpc-call.ts";
import { notYet } from "../rpc-node.ts";

/** Entries of a page: the Go provider's page size. */
const rpcPageEntries = 1_000;
/** Pages of a list: a million entries is a hundred times of what the network holds. */
const rpcPages = 1_000;
/** Queries of one height for "not found": a node may prune that state before the query arrives. */
const rpcProofTries = 4;

export interface Query<Request, Value> {
  readonly path: string;
  encode(request: Request): Uint8Array;
  /** The height is that of the state in the answer. */
  decode(answer: Uint8Array, height: bigint): Value;
  /** Error text that is the chain's answer to this request, where the code is also that of node errors. */
  readonly rejection?: RegExp;
}

export type ListQuery<Filter, T> = Query<
  { readonly filter: Filter; readonly pagination: PageRequest },
  { readonly items: readonly T[]; readonly nextKey: Uint8Array }
>;

/** The SDK's own errors; the first is what a gRPC NotFound turns into on the way through ABCI. */
const sdkCodes = { keyNotFound: 22, invalidHeight: 26, notFound: 38, invalidRequest: 18 };

/** Codes that are answers of the application. All its other errors are the node's: it panicked, or knows no such path. */
const answeringCodes = [sdkCodes.keyNotFound, sdkCodes.notFound, sdkCodes.invalidRequest];

/** Undefined when the chain says that there is no such thing; throws when it says anything else but yes. */
export async function queryOne<Request, Value>(
  pool: Pool,
  query: Query<Request, Value>,
  request: Request,
  options: QueryOptions = {},
): Promise<At<Value | undefined>> {
  const found = await queryOnce(pool, query, request, options);
  const { atOrAbove } = options;
  if (found.value !== undefined || atOrAbove === undefined || options.height !== undefined) return found;
  // "Not found" carries no height, and a lagging node behind the same name may have said it. Queried at a height, a node that
  // has not reached it says so; one that pruned it is queried at its newest.
  let height = atOrAbove;
  for (let left = rpcProofTries; ; left -= 1) {
    try {
      return await queryOnce(pool, query, request, { ...options, height });
    } catch (thrown) {
      if (left <= 1 || !isStateGone(thrown)) throw thrown;
    }
    const newest = await queryOnce(pool, query, request, { ...options, atOrAbove: height + 1n });
    if (newest.value !== undefined) return newest;
    height = newest.height;
  }
}

async function queryOnce<Request, Value>(
  pool: Pool,
  query: Query<Request, Value>,
  request: Request,
  options: QueryOptions,
): Promise<At<Value | undefined>> {
  const { height, pageEntries: _, pages: __, ...call } = options;
  const data = Buffer.from(query.encode(request)).toString("hex");
  const params = { path: query.path, data, ...(height !== undefined && { height: `${height}` }), prove: false };
  const read = (result: unknown, node: string) => readResponse(node, query, result, options.atOrAbove ?? 0n);
  const { result, node, nodeHeight } = await pool.call("abci_query", params, read, call);
  const { value, code, rejected } = result;
  if (!rejected) return { value, height: result.height, node };
  if (code !== sdkCodes.keyNotFound) throw rejected;
  // At the requested height, or at the height that the node reported.
  return { value: undefined, height: height ?? nodeHeight, node };
}

/** Whether a query failed because the node does not keep the state of the requested height. */
function isStateGone(thrown: unknown): boolean {
  if (!ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED")) return false;
  const { codespace, code, reason } = thrown.details;
  if (codespace !== "sdk") return false;
  if (code === sdkCodes.notFound) return true;
  return code === sdkCodes.invalidRequest && /height/.test(String(reason));
}

/** A query at a height that the node does not keep is repeated at the newest. */
export async function unlessGone<T>(options: QueryOptions, read: (options: QueryOptions) => Promise<T>): Promise<T> {
  try {
    return await read(options);
  } catch (thrown) {
    if (options.height === undefined || !isStateGone(thrown)) throw thrown;
    return read({ ...options, height: undefined });
  }
}

/** Throws errors of the node that are no answer of the chain, so that the other nodes are called. */
function readResponse<Value>(node: string, query: Query<never, Value>, result: unknown, floor: bigint) {
  const { path, rejection } = query;
  return reading(node, `abci_query ${path}`, () => {
    const response = isRecord(result) ? result["response"] : undefined;
    if (!isRecord(response)) throw new TypeError("it holds no response");
    const { code = 0, value } = response;
    const [codespace, reason] = [String(response["codespace"] ?? ""), String(response["log"] ?? "")];
    if (typeof code !== "number") throw new TypeError("its code is no number");
    const height = readHeight(response["height"] ?? "0");
    // Several nodes may share one name, so the node that answered may not be the one that reported its height.
    if (code === 0 && height < floor) throw notYet(node, `its answer is of height ${height}, below ${floor}`);
    const bytes = Buffer.from(typeof value === "string" ? value : "", "base64");
    if (code === 0) return { value: decode(query, bytes, height, node), code, height, rejected: undefined };
    // A node announces a block, and even its events, before it has committed it. Without the height it would answer
    // from the state before, where what the block made is "not found".
    if (codespace === "sdk" && code === sdkCodes.invalidHeight)
      throw notYet(node, `its state is behind its blocks (${reason})`);
    const rejected = new ProviderError("AKP_CHAIN_QUERY_REFUSED", { path, codespace, code, reason, node });
    const isAnswer = (codespace === "sdk" && answeringCodes.includes(code)) || rejection?.test(reason);
    if (!isAnswer) throw rejected;
    return { value: undefined, code, height, rejected };
  });
}

function decode<Value>(query: Query<never, Value>, bytes: Uint8Array, height: bigint, node: string): Value {
  try {
    return query.decode(bytes, height);
  } catch (thrown) {
    const details = { node, method: `abci_query ${query.path}`, reason: reasonOf(thrown) };
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", details, { cause: thrown });
  }
}

/** All pages of a list from one node and, while it keeps that state, of one height; else the height is that of the first page. */
export async function queryList<Filter, T>(
  pool: Pool,
  query: ListQuery<Filter, T>,
  filter: Filter,
  options: QueryOptions = {},
): Promise<Listed<T>> {
  // A node that fails half-way takes its page keys with it: another one begins anew.
  for (let left = pool.nodes.length; ; left -= 1) {
    try {
      return await listFromOne(pool, query, filter, options);
    } catch (thrown) {
      const isFailed = ProviderError.is(thrown, "AKP_CHAIN_NO_ENDPOINT");
      if (!isFailed || left <= 1 || options.node !== undefined) throw thrown;
    }
  }
}

async function listFromOne<Filter, T>(
  pool: Pool,
  query: ListQuery<Filter, T>,
  filter: Filter,
  options: QueryOptions,
): Promise<Listed<T>> {
  const page = async (key: Uint8Array, pageOptions: QueryOptions) => {
    const pagination = PageRequestCodec.fromPartial({ key, limit: options.pageEntries ?? rpcPageEntries });
    const { value = noPage, ...rest } = await queryOne(pool, query, { filter, pagination }, pageOptions);
    return { value, ...rest };
  };
  const first = await page(new Uint8Array(), options);
  const { height, node } = first;
  const items = [...first.value.items];
  let { nextKey } = first.value;
  let steady = true;
  for (let pages = 1; nextKey.length > 0 && pages < (options.pages ?? Number.POSITIVE_INFINITY); pages += 1) {
    if (pages >= rpcPages) throw endless(query.path, node, `${pages} pages were read`);
    const here = { ...options, node };
    const next = await page(nextKey, steady ? { ...here, height } : here).catch((thrown: unknown) => {
      if (!steady || !isStateGone(thrown)) throw thrown;
      steady = false;
      return page(nextKey, here);
    });
    if (Buffer.compare(next.value.nextKey, nextKey) === 0) throw endless(query.path, node, "a page leads to itself");
    items.push(...next.value.items);
    nextKey = next.value.nextKey;
  }
  return { items, height, steady, node };
}

/** Where nothing is found, some lists say that instead of being empty. */
const noPage = { items: [], nextKey: new Uint8Array() };

function endless(path: string, node: string, reason: string): ProviderError {
  return new ProviderError("AKP_CHAIN_LIST_ENDLESS", { path, node, reason });
}
