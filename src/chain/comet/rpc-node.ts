/** One node of the pool: its last status, its failures, and whether it may be called. */
import type { Clock } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { createRpcCall, type RpcCall, type RpcLimits, readHeight, reading, readTimeNs } from "./rpc-call.ts";
import type { RpcTransport } from "./transport.ts";

/** A node this far behind the best one is not used: within two blocks nodes differ all the time. */
export const rpcLagBlocks = 3n;

/** "failing": it answers, but some method does not work. "down": failed several times in a row. */
export type NodeCondition = "unknown" | "good" | "behind" | "catching up" | "other chain" | "failing" | "down";

/** Whether what it says of the chain is true of now. */
export function isUsable({ condition }: Pick<RpcNodeState, "condition">): boolean {
  return condition === "good" || condition === "failing";
}

export type RpcNodeState = ReturnType<RpcNode["stateNow"]>;
export type RpcParams = Readonly<Record<string, unknown>>;

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

/** What CometBFT says against one transaction (its mempool/errors.go). */
const againstTransaction = /^tx (already exists in cache|too large|pre check|size is too big)/i;

/** Whether an error is the answer: transaction unknown or rejected. Quotas and rate limits are the node's fault. */
export function isAnswer(method: string, reason: string): boolean {
  return method === "tx" || (method.startsWith("broadcast_tx_") && againstTransaction.test(reason));
}

export function rejectionReason(thrown: unknown): string | undefined {
  return ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED") ? String(thrown.details["reason"]) : undefined;
}

function requestedHeight(method: string, { height }: RpcParams): bigint | undefined {
  const isOfBlock = method === "block" || method === "block_results" || method === "header";
  return isOfBlock && typeof height === "string" ? BigInt(height) : undefined;
}

/** A node announces a block before its results and state can be read, so a later try succeeds. */
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

export class RpcNode {
  readonly transport: RpcTransport;
  readonly #chainId: () => string | undefined;
  readonly #clock: Clock;
  readonly #send: RpcCall;
  readonly #breaker: Breaker;
  readonly #failing = new Map<string, string>();
  #lastFailure: string | undefined;
  status: NodeStatus | undefined;
  latencyMs: number | undefined;
  /** Blocks behind the agreed head when all were last probed. Set by the pool, which alone sees the others. */
  lag = 0n;

  /** `chainId` returns our chain's id once it is known. */
  constructor(
    transport: RpcTransport,
    chainId: () => string | undefined,
    { clock, random }: Pick<RuntimeDeps, "clock" | "random">,
  ) {
    this.transport = transport;
    this.#chainId = chainId;
    this.#clock = clock;
    this.#send = createRpcCall(transport, clock);
    this.#breaker = createBreaker(clock, random);
  }

  /** In a row, of calls that no node answered. */
  get failures(): number {
    return this.#breaker.failures;
  }

  get condition(): NodeCondition {
    return this.#health()[0];
  }

  stateNow() {
    const { lag, latencyMs, status } = this;
    const [condition, error] = this.#health();
    const { height, earliestHeight } = status ?? {};
    return { name: this.transport.name, condition, height, earliestHeight, lag, latencyMs, error };
  }

  #health(): readonly [NodeCondition, reason: string | undefined] {
    const { status } = this;
    if (this.#breaker.open) return ["down", this.#lastFailure];
    if (!status) return ["unknown", this.#lastFailure];
    const wanted = this.#chainId() ?? status.chainId;
    if (status.chainId !== wanted) return ["other chain", `it belongs to the chain ${status.chainId}`];
    if (status.catchingUp) return ["catching up", "it is still loading older blocks"];
    if (this.lag >= rpcLagBlocks) return ["behind", `it is ${this.lag} blocks behind`];
    return this.#failing.size > 0 ? ["failing", [...this.#failing.values()].join("; ")] : ["good", undefined];
  }

  /** Whether the last call of this method, or without one of any method, was answered with nothing of use. */
  isFailing(method?: string): boolean {
    return method === undefined ? this.#failing.size > 0 : this.#failing.has(method);
  }

  admit(): boolean {
    return this.#breaker.admit();
  }

  /** What `read` makes of the result; that it cannot read it is the node's failure too. */
  async call<T>(method: string, params: RpcParams, read: (result: unknown) => T, bounds: RpcLimits): Promise<T> {
    const startMs = this.#clock.monotonicMs();
    let answer: unknown;
    try {
      answer = await this.#send(method, params, bounds);
    } catch (thrown) {
      if (ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED")) throw this.#rejected(thrown, method, params, startMs);
      if (thrown instanceof ProviderError) {
        this.#blame(method, thrown);
        this.#breaker.failed(startMs);
      }
      throw thrown;
    }
    this.#answered(startMs);
    try {
      const result = read(answer);
      this.#failing.delete(method);
      return result;
    } catch (thrown) {
      const isFault = thrown instanceof ProviderError && !ProviderError.is(thrown, "AKP_CHAIN_NOT_YET");
      if (isFault) this.#blame(method, thrown);
      throw thrown;
    }
  }

  #answered(startMs: number): void {
    const tookMs = this.#clock.monotonicMs() - startMs;
    const before = this.latencyMs ?? tookMs;
    this.latencyMs = before * (1 - newestShare) + tookMs * newestShare;
    this.#breaker.succeeded();
  }

  /** A node that answers with an error is there. Whether its method works is another question. */
  #rejected(error: ProviderError, method: string, params: RpcParams, startMs: number): ProviderError {
    const { status } = this;
    this.#answered(startMs);
    const height = requestedHeight(method, params);
    // That it has thrown a block away, or may not have worked through it yet, is no fault of the node.
    if (status && height !== undefined && height < status.earliestHeight) return error;
    if (status && height !== undefined && height >= status.height)
      return notYet(this.transport.name, error.message, error);
    if (isAnswer(method, rejectionReason(error) ?? "")) this.#failing.delete(method);
    else this.#blame(method, error);
    return error;
  }

  /** By method: where status still answers, nothing else would show that this one never does. */
  #blame(method: string, error: ProviderError): void {
    this.#lastFailure = error.message;
    this.#failing.set(method, error.message);
  }

  async read(bounds: RpcLimits): Promise<NodeStatus> {
    const said = await this.call("status", {}, (result) => readStatus(this.transport.name, result), bounds);
    this.status = { ...said, atMs: this.#clock.monotonicMs() };
    return this.status;
  }

  /** Calls the failed methods with a simple request: while other nodes do well they would not be called again. */
  async recheck(bounds: RpcLimits): Promise<void> {
    const calls = [...this.#failing.keys()].map((method) => {
      // Every application has /app/version; all other methods in use answer without parameters.
      const params = method === "abci_query" ? { path: "/app/version", data: "", prove: false } : {};
      return this.call(method, params, () => undefined, bounds).catch(unlessOfNode);
    });
    // All at once: those that hang would hold up the look at every other node, one after the other.
    await Promise.all(calls);
  }
}

/** Failures of nodes are counted and expected; any other is a bug. */
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

type Breaker = ReturnType<typeof createBreaker>;

export function createBreaker(clock: Clock, random: Random) {
  let failures = 0;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  let retryAtMs = 0;
  const isOpen = () => failures >= rpcBreakerFailures;
  /** Jittered, so that many providers do not all come back in the instant in which a public node does. */
  function rest(): void {
    const pauseMs = Math.min(rpcBreakerFirstMs * 2 ** (failures - rpcBreakerFailures), rpcBreakerMostMs);
    retryAtMs = clock.monotonicMs() + jitter(random, pauseMs);
  }

  return {
    /** Whether a call may be made now. Of those that ask once the pause is over, one is let through. */
    admit(): boolean {
      if (!isOpen()) return true;
      if (clock.monotonicMs() < retryAtMs) return false;
      rest();
      return true;
    },
    succeeded(): void {
      failures = 0;
    },
    /** A call that began at this time failed. Many at once that fail together count as one. */
    failed(beganMs: number): void {
      if (beganMs < failedAtMs) return;
      failedAtMs = clock.monotonicMs();
      failures += 1;
      if (isOpen()) rest();
    },
    get failures() {
      return failures;
    },
    get open() {
      return isOpen();
    },
  };
}
