/** The chain as the outbox needs it, over the RPC of CometBFT nodes. */
import { SimulateRequest, SimulateResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { parseAddress } from "../../market/address.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { readTxResult } from "../comet/blocks.ts";
import type { NodeCallOptions, Pool } from "../comet/pool.ts";
import { type Query, queryOne } from "../comet/queries/abci-query.ts";
import { accountQuery } from "../comet/queries/queries.ts";
import { readHeight, reading } from "../comet/rpc-call.ts";
import { isAnswer, rejectionReason } from "../comet/rpc-node.ts";
import { type Broadcaster, type Included, includedAt, type Receipt, rpcCodespace } from "./broadcaster.ts";

/** Every call ends as soon as the signal is aborted. */
export function createCometBroadcaster(pool: Pool, signal?: AbortSignal): Broadcaster {
  return {
    async head() {
      const reported = await pool.head({ signal });
      const { height, timeNs } = pool.agreed ?? reported;
      return { height, timeNs };
    },
    async account(address, atOrAbove) {
      const { value, height } = await queryOne(pool, accountQuery, parseAddress(address), { atOrAbove, signal });
      return value && { number: value.number, sequence: value.sequence, height };
    },
    async simulate(tx, atOrAbove) {
      try {
        const { value: gasUsed } = await queryOne(pool, simulateQuery, tx, { atOrAbove, signal });
        if (gasUsed === undefined) {
          const details = {
            node: "a node",
            method: `abci_query ${simulateQuery.path}`,
            reason: "it knows no simulation",
          };
          throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", details);
        }
        return { kind: "ran", gasUsed };
      } catch (thrown) {
        if (!ProviderError.is(thrown, "AKP_CHAIN_QUERY_REFUSED")) throw thrown;
        const log = String(thrown.details["reason"]);
        if (!isAboutTheTransaction.test(log)) throw thrown;
        return { kind: "refused", log };
      }
    },
    broadcast: (tx, reach = "one") => (reach === "one" ? toOne(pool, tx, signal) : toAll(pool, tx, signal)),
    findTx: (hash, atOrAbove, firstHeight) => findTx(pool, hash, firstHeight, { atOrAbove, signal }),
  };
}

type Offered = Receipt | ProviderError;

/** One node after the other until one takes it: another may not share its objection, as to the price of gas. */
async function toOne(pool: Pool, tx: Uint8Array, signal: AbortSignal | undefined): Promise<Receipt> {
  const offers: Offered[] = [];
  for (const node of inTurn(pool)) {
    const offered = await offer(pool, tx, node, signal);
    offers.push(offered);
    if ("kind" in offered && offered.kind === "taken") break;
  }
  return together(offers);
}

/** One that takes it is enough, but each gets it: a node may not pass it on. */
async function toAll(pool: Pool, tx: Uint8Array, signal: AbortSignal | undefined): Promise<Receipt> {
  return together(await Promise.all(inTurn(pool).map((node) => offer(pool, tx, node, signal))));
}

function together(offers: readonly Offered[]): Receipt {
  const receipts = offers.filter((offered) => "kind" in offered);
  const rejection = receipts.find((receipt) => receipt.kind === "refused");
  if (receipts.length === 0) return rejectedByAll(offers.filter((offered) => offered instanceof ProviderError));
  if (!rejection || receipts.every(({ kind }) => kind === "refused")) return rejection ?? { kind: "taken" };
  const { kind: _, ...objection } = rejection;
  return { kind: "taken", objection };
}

async function offer(pool: Pool, tx: Uint8Array, node: string, signal: AbortSignal | undefined): Promise<Offered> {
  const params = { tx: Buffer.from(tx).toString("base64") };
  try {
    const read = checked("broadcast_tx_sync", readReceipt);
    return (await pool.call("broadcast_tx_sync", params, read, { node, signal })).result;
  } catch (thrown) {
    if (rejectionReason(thrown)?.includes("tx already exists in cache")) return { kind: "taken" };
    return onlyOurs(thrown);
  }
}

/** What every node that answered has against this one; a node with a quota, or with a full pool, says nothing about it. */
function rejectedByAll(failures: readonly ProviderError[]): Receipt {
  for (const failure of failures) {
    const log = rejectionReason(failure);
    if (log === undefined || !isAnswer("broadcast_tx_sync", log)) continue;
    return { kind: "refused", code: Number(failure.details["rpcCode"]), codespace: rpcCodespace, log };
  }
  throw noEndpoint("broadcast_tx_sync", failures);
}

/** A node proves nothing that began after the transaction left or has no index, nor does a failure before the messages. */
async function findTx(
  pool: Pool,
  hash: string,
  firstHeight: bigint | undefined,
  options: NodeCallOptions,
): Promise<Included | undefined> {
  const params = { hash: Buffer.from(hash, "hex").toString("base64"), prove: false };
  const failures: ProviderError[] = [];
  const unable: string[] = [];
  let unknowing = 0;
  for (const node of inTurn(pool)) {
    try {
      const { result } = await pool.call("tx", params, checked("tx", readIncluded), { ...options, node });
      const isCertain = result.code === 0 || result.admitted;
      const missing = isCertain ? undefined : missingBlocks(pool, node, firstHeight);
      if (missing === undefined) return result;
      unable.push(missing);
    } catch (thrown) {
      failures.push(onlyOurs(thrown));
      const reason = rejectionReason(thrown);
      if (reason === undefined) continue;
      const isUnknown = reason.includes(`tx (${hash}) not found`);
      const missing = isUnknown ? missingBlocks(pool, node, firstHeight) : reason;
      if (missing !== undefined) unable.push(missing);
      else if (++unknowing === witnesses) return undefined;
    }
  }
  if (unknowing > 0) return undefined;
  if (unable.length === 0) throw noEndpoint("tx", failures);
  throw new ProviderError("AKP_TX_UNPROVEN", { hash, height: firstHeight ?? 0n, reasons: unable.join("; ") });
}

/** An index can be late or stuck: "not found" counts when a second node, if there is one, agrees. */
const witnesses = 2;

/** In words, if the node does not have every block from this one on. */
function missingBlocks(pool: Pool, node: string, height: bigint | undefined): string | undefined {
  if (height === undefined) return undefined;
  const earliest = pool.nodes.find(({ name }) => name === node)?.earliestHeight ?? 0n;
  if (earliest > 0n && earliest <= height) return undefined;
  return earliest > 0n ? `the first block of ${node} is ${earliest}` : `${node} reports no first block`;
}

/** All nodes, the one in use first and failing ones last. */
function inTurn(pool: Pool): string[] {
  const { nodes } = pool;
  const isFailing = (node: string) => nodes.some(({ name, condition }) => name === node && condition === "failing");
  const names = [...new Set([pool.preferred.name, ...nodes.map(({ name }) => name)])];
  return names.sort((a, b) => Number(isFailing(a)) - Number(isFailing(b)));
}

function onlyOurs(thrown: unknown): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  throw thrown;
}

function noEndpoint(what: string, failures: readonly ProviderError[]): ProviderError {
  const [first] = failures;
  if (first && failures.length === 1) return first;
  return new ProviderError("AKP_CHAIN_NO_ENDPOINT", { what, reasons: failures.map(reasonOf).join("; "), failures });
}

/** The application ran it, or could not read it; anything else is an error of the node. */
const isAboutTheTransaction = /with gas used|errUnknownField|tx parse error/;

const simulateQuery: Query<Uint8Array, bigint> = {
  path: "/cosmos.tx.v1beta1.Service/Simulate",
  rejection: isAboutTheTransaction,
  encode: (txBytes) => SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish(),
  decode(bytes) {
    const gasUsed = SimulateResponse.decode(bytes).gasInfo?.gasUsed;
    if (!gasUsed) throw new TypeError("a simulation without gas");
    return gasUsed.toBigInt();
  },
};

/** An answer that cannot be read is the node's failure, so that another one is called. */
function checked<T>(method: string, read: (result: unknown) => T): (result: unknown, node: string) => T {
  return (result, node) => reading(node, method, () => read(result));
}

function readReceipt(result: unknown): Receipt {
  const { code, codespace, log } = readTxResult(result);
  return code === 0 ? { kind: "taken" } : { kind: "refused", code, codespace, log };
}

function readIncluded(result: unknown): Included {
  const body = isRecord(result) ? result["tx_result"] : undefined;
  if (!isRecord(result) || !isRecord(body)) throw new TypeError("it holds no result of a transaction");
  return includedAt(readHeight(result["height"]), readTxResult(body));
}
