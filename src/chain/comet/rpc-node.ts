/** One node of the pool: what it last said of itself, how it has been doing, and whether it may be asked. */
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { type CallLimits, createRpcCall, reading } from "./rpc-call.ts";
import type { RpcTransport } from "./transport.ts";
import { readHeight, readTimeNs } from "./wire-text.ts";

/** A node this far behind the best one is not used: within two blocks nodes differ all the time. */
export const rpcLagBlocks = 3n;

/**
 * "unknown": not asked yet. "behind": too many blocks behind the best. "failing": it is there, but some method of it does
 * not work. "down": failed again and again.
 */
export type NodeCondition = "unknown" | "good" | "behind" | "catching up" | "other chain" | "failing" | "down";

/** Whether what it says of the chain is true of now. */
export function isUsable({ condition }: Pick<RpcNodeState, "condition">): boolean {
  return condition === "good" || condition === "failing";
}

interface CallCounts {
  calls: number;
  /** No answer, none of a node, or none that can be used. */
  failures: number;
  /** The node answered with an error. */
  refusals: number;
}

/** For metrics and the live view. */
export interface RpcNodeState {
  readonly name: string;
  readonly condition: NodeCondition;
  readonly height: bigint | undefined;
  /** The oldest block that it still has. */
  readonly earliestHeight: bigint | undefined;
  /** Blocks behind the agreed head when all were last probed. */
  readonly lag: bigint;
  readonly latencyMs: number | undefined;
  /** Why it is not used, in words; the last failure. */
  readonly trouble: string | undefined;
  readonly counts: Readonly<CallCounts>;
}

export type Params = Readonly<Record<string, unknown>>;

/** Where a node says it is. */
export interface NodeStatus {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
  /** The oldest block that it still has. */
  readonly earliestHeight: bigint;
  /** It is still loading older blocks and knows nothing of the present. */
  readonly catchingUp: boolean;
  /** When it said so, by our clock. */
  readonly atMs: number;
}

export interface RpcNode {
  readonly transport: RpcTransport;
  readonly status: NodeStatus | undefined;
  readonly condition: NodeCondition;
  /** In a row, of calls that no node answered. */
  readonly failures: number;
  /** Whether the last call of this method, or without one of any method, was answered with nothing of use. */
  isFailing(method?: string): boolean;
  readonly latencyMs: number | undefined;
  readonly state: RpcNodeState;
  /** Set by the pool, which alone sees the others. */
  lag: bigint;
  admit(): boolean;
  /** What `read` makes of the result; that it cannot read it is the node's failure too. */
  call<T>(method: string, params: Params, read: (result: unknown) => T, bounds: CallLimits): Promise<T>;
  /** Asks for its status and keeps it. */
  read(bounds: CallLimits): Promise<NodeStatus>;
  /** Asks the methods that failed for something simple: where other nodes do well, nobody else would ask them again. */
  recheck(bounds: CallLimits): Promise<void>;
}

/** What CometBFT says against one transaction (its mempool/errors.go). */
const againstTransaction = /^tx (already exists in cache|too large|pre check|size is too big)/i;

/**
 * Whether an error is the answer: that a transaction is not there, or is not taken. Any other error to a broadcast, such
 * as a quota or a rate limit, is the node's fault.
 */
export function isAnswer(method: string, reason: string): boolean {
  return method === "tx" || (method.startsWith("broadcast_tx_") && againstTransaction.test(reason));
}

/** Why a node answered with an error, if it did. */
export function refusalReason(thrown: unknown): string | undefined {
  return ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED") ? String(thrown.details["reason"]) : undefined;
}

function heightAsked(method: string, { height }: Params): bigint | undefined {
  const isOfBlock = method === "block" || method === "block_results" || method === "header";
  return isOfBlock && typeof height === "string" ? BigInt(height) : undefined;
}

/** It will have it: a node tells of a block before its results and its state can be read. */
export function notYet(node: string, reason: string, cause?: unknown): ProviderError {
  return new ProviderError("AKP_CHAIN_NOT_YET", { node, reason }, { cause });
}

/** Whether a node has only not got there yet; what else fails then does not matter. */
export function isNotYet(thrown: unknown): boolean {
  if (ProviderError.is(thrown, "AKP_CHAIN_NOT_YET")) return true;
  const failures = ProviderError.is(thrown, "AKP_CHAIN_NO_ENDPOINT") ? thrown.details["failures"] : undefined;
  return Array.isArray(failures) && failures.some((each) => ProviderError.is(each, "AKP_CHAIN_NOT_YET"));
}

/** Weight of the newest call in the average: about the last ten count. */
const newestShare = 0.1;

/** `chainId` tells which chain is ours, once that is known. */
export function createRpcNode(
  transport: RpcTransport,
  chainId: () => string | undefined,
  { clock, random }: { clock: Clock; random: Random },
): RpcNode {
  const ask = createRpcCall(transport, clock);
  const breaker = createBreaker(clock, random);
  const counts: CallCounts = { calls: 0, failures: 0, refusals: 0 };
  /** What is wrong with it, by method. */
  const failing = new Map<string, string>();
  let status: NodeStatus | undefined;
  let latencyMs: number | undefined;
  let lastFailure: string | undefined;

  async function call<T>(method: string, params: Params, read: (result: unknown) => T, bounds: CallLimits): Promise<T> {
    const startMs = clock.monotonicMs();
    counts.calls += 1;
    let answer: unknown;
    try {
      answer = await ask(method, params, bounds);
    } catch (thrown) {
      if (ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED")) throw refused(thrown, method, params, startMs);
      if (thrown instanceof ProviderError) failed(method, thrown, startMs);
      throw thrown;
    }
    answered(clock.monotonicMs() - startMs);
    try {
      const result = read(answer);
      failing.delete(method);
      return result;
    } catch (thrown) {
      if (thrown instanceof ProviderError && !ProviderError.is(thrown, "AKP_CHAIN_NOT_YET")) blame(method, thrown);
      throw thrown;
    }
  }

  function answered(tookMs: number): void {
    latencyMs = latencyMs === undefined ? tookMs : latencyMs * (1 - newestShare) + tookMs * newestShare;
    breaker.succeeded();
  }

  /** Whoever refuses is there. Whether its method works is another question. */
  function refused(error: ProviderError, method: string, params: Params, startMs: number): ProviderError {
    counts.refusals += 1;
    answered(clock.monotonicMs() - startMs);
    const height = heightAsked(method, params);
    // That it has thrown a block away, or may not have worked through it yet, is no fault of the node.
    if (status && height !== undefined && height < status.earliestHeight) return error;
    if (status && height !== undefined && height >= status.height) return notYet(transport.name, error.message, error);
    if (isAnswer(method, refusalReason(error) ?? "")) failing.delete(method);
    else blame(method, error);
    return error;
  }

  function blame(method: string, error: ProviderError): void {
    counts.failures += 1;
    lastFailure = error.message;
    failing.set(method, error.message);
  }

  /** Also of the method: where status still answers, nothing else would show that this one never does. */
  function failed(method: string, error: ProviderError, beganMs: number): void {
    blame(method, error);
    breaker.failed(beganMs);
  }

  function conditionNow(): NodeCondition {
    if (breaker.open) return "down";
    if (!status) return "unknown";
    const wanted = chainId();
    if (wanted !== undefined && status.chainId !== wanted) return "other chain";
    if (status.catchingUp) return "catching up";
    if (node.lag >= rpcLagBlocks) return "behind";
    return failing.size > 0 ? "failing" : "good";
  }

  function troubleNow(condition: NodeCondition): string | undefined {
    if (condition === "other chain") return `it belongs to the chain ${status?.chainId}`;
    if (condition === "behind") return `it is ${node.lag} blocks behind`;
    if (condition === "catching up") return "it is still loading older blocks";
    if (condition === "failing") return [...failing.values()].join("; ");
    return condition === "good" ? undefined : lastFailure;
  }

  const node: RpcNode = {
    transport,
    lag: 0n,
    get status() {
      return status;
    },
    get condition() {
      return conditionNow();
    },
    get failures() {
      return breaker.failures;
    },
    isFailing: (method) => (method === undefined ? failing.size > 0 : failing.has(method)),
    get latencyMs() {
      return latencyMs;
    },
    get state() {
      const condition = conditionNow();
      const { lag } = node;
      const trouble = troubleNow(condition);
      const { height, earliestHeight } = status ?? {};
      return { name: transport.name, condition, height, earliestHeight, lag, latencyMs, trouble, counts };
    },
    admit: breaker.admit,
    call,
    async read(bounds) {
      const said = await call("status", {}, (result) => readStatus(transport.name, result), bounds);
      status = { ...said, atMs: clock.monotonicMs() };
      return status;
    },
    async recheck(bounds) {
      const asked = [...failing.keys()].map((method) => {
        // Every application tells its version, and every other method that we use has something to say without a question.
        const params = method === "abci_query" ? { path: "/app/version", data: "", prove: false } : {};
        return call(method, params, () => undefined, bounds).catch(unlessOfNode);
      });
      // All at once: those that hang would hold up the look at every other node, one after the other.
      await Promise.all(asked);
    },
  };
  return node;
}

/** That nodes fail is counted, and what a pool is for; anything else is a fault of ours. */
export function unlessOfNode(thrown: unknown): void {
  if (!(thrown instanceof ProviderError)) throw thrown;
}

function readStatus(node: string, result: unknown): Omit<NodeStatus, "atMs"> {
  const info = isRecord(result) ? result["node_info"] : undefined;
  const sync = isRecord(result) ? result["sync_info"] : undefined;
  return reading(node, "status", () => {
    if (!isRecord(info) || !isRecord(sync)) throw new TypeError("node_info and sync_info are missing");
    const { network } = info;
    if (typeof network !== "string" || network === "") throw new TypeError("it names no chain");
    return {
      chainId: network,
      height: readHeight(sync["latest_block_height"]),
      timeNs: readTimeNs(sync["latest_block_time"]),
      earliestHeight: readHeight(sync["earliest_block_height"] ?? "0"),
      catchingUp: sync["catching_up"] === true,
    };
  });
}

// Leaves a node alone after it failed several times in a row, and tries it again now and then, one call at a time.

/** Failures in a row after which a node is left alone for a while; one or two are just a restart. */
export const rpcBreakerFailures = 3;
export const rpcBreakerFirstMs = second;
/** A node that came back is noticed within two blocks. */
export const rpcBreakerMostMs = 10 * second;

interface Breaker {
  /** Whether a call may be made now. Of those that ask once the pause is over, one is let through. */
  admit(): boolean;
  succeeded(): void;
  /** A call that began at this time failed. Many at once that fail together count as one. */
  failed(beganMs: number): void;
  readonly failures: number;
  readonly open: boolean;
}

export function createBreaker(clock: Clock, random: Random): Breaker {
  let failures = 0;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let retryAtMs = 0;
  const isOpen = () => failures >= rpcBreakerFailures;
  /** Jittered, so that many providers do not all come back in the instant in which a public node does. */
  function pauseMs(): number {
    const doublings = failures - rpcBreakerFailures;
    return jitter(random, Math.min(rpcBreakerFirstMs * 2 ** doublings, rpcBreakerMostMs));
  }

  return {
    admit() {
      if (!isOpen()) return true;
      if (clock.monotonicMs() < retryAtMs) return false;
      // Whoever comes next waits for what this one finds out.
      retryAtMs = clock.monotonicMs() + pauseMs();
      return true;
    },
    succeeded() {
      failures = 0;
    },
    failed(beganMs) {
      if (beganMs < failedAtMs) return;
      failedAtMs = clock.monotonicMs();
      failures += 1;
      if (isOpen()) retryAtMs = clock.monotonicMs() + pauseMs();
    },
    get failures() {
      return failures;
    },
    get open() {
      return isOpen();
    },
  };
}
