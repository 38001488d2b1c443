/** One node of the pool: what it last said of itself, how it has been doing, and whether it may be asked. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import { createBreaker } from "./breaker.ts";
import type { CallLimits, Endpoint } from "./endpoint.ts";
import { type NodeStatus, readStatus } from "./node-status.ts";

/** "unknown": not asked yet. "behind": too many blocks behind the best. "down": failed again and again. */
export type Condition = "unknown" | "good" | "behind" | "catching up" | "other chain" | "down";

export interface MemberCounts {
  calls: number;
  /** No answer, or none of a node. */
  failures: number;
  /** The node answered, and said no. */
  refusals: number;
}

/** For metrics and the live view. */
export interface MemberState {
  readonly name: string;
  readonly condition: Condition;
  readonly height: bigint | undefined;
  /** The oldest block that it still has. */
  readonly earliestHeight: bigint | undefined;
  /** Blocks behind the best node when all were last asked. */
  readonly lag: bigint;
  readonly latencyMs: number | undefined;
  /** Why it is not used, in words; the last failure. */
  readonly trouble: string | undefined;
  readonly counts: Readonly<MemberCounts>;
}

export type Params = Readonly<Record<string, unknown>>;

export interface Reading extends NodeStatus {
  readonly atMs: number;
}

export interface Member {
  readonly endpoint: Endpoint;
  readonly reading: Reading | undefined;
  readonly condition: Condition;
  readonly failures: number;
  readonly latencyMs: number | undefined;
  readonly state: MemberState;
  /** Set by the pool, which alone sees the others. */
  lag: bigint;
  admit(): boolean;
  /** What `read` makes of the result; that it cannot read it is the node's failure too. */
  call<T>(method: string, params: Params, read: (result: unknown) => T, bounds: CallLimits): Promise<T>;
  /** Asks for its status and keeps it. */
  read(bounds: CallLimits): Promise<Reading>;
}

/** Weight of the newest call in the average: about the last ten count. */
const newestShare = 0.1;

/** `chainId` tells which chain is ours, once that is known. */
export function createMember(
  endpoint: Endpoint,
  chainId: () => string | undefined,
  { clock, random }: { clock: Clock; random: Random },
): Member {
  const breaker = createBreaker(clock, random);
  const counts: MemberCounts = { calls: 0, failures: 0, refusals: 0 };
  let reading: Reading | undefined;
  let latencyMs: number | undefined;
  let lastFailure: string | undefined;

  async function call<T>(method: string, params: Params, read: (result: unknown) => T, bounds: CallLimits): Promise<T> {
    const startMs = clock.monotonicMs();
    counts.calls += 1;
    try {
      const result = read(await endpoint.call(method, params, bounds));
      answered(clock.monotonicMs() - startMs);
      return result;
    } catch (thrown) {
      if (ProviderError.is(thrown, "AKP_CHAIN_CALL_REFUSED")) {
        counts.refusals += 1;
        answered(clock.monotonicMs() - startMs);
      } else if (thrown instanceof ProviderError) failed(thrown, startMs);
      throw thrown;
    }
  }

  function answered(tookMs: number): void {
    latencyMs = latencyMs === undefined ? tookMs : latencyMs * (1 - newestShare) + tookMs * newestShare;
    breaker.succeeded();
  }

  function failed(error: ProviderError, beganMs: number): void {
    counts.failures += 1;
    lastFailure = error.message;
    breaker.failed(beganMs);
  }

  function conditionNow(): Condition {
    if (breaker.open) return "down";
    if (!reading) return "unknown";
    const wanted = chainId();
    if (wanted !== undefined && reading.chainId !== wanted) return "other chain";
    if (reading.catchingUp) return "catching up";
    return member.lag >= limits.rpcLagBlocks ? "behind" : "good";
  }

  function troubleNow(condition: Condition): string | undefined {
    if (condition === "other chain") return `it belongs to the chain ${reading?.chainId}`;
    if (condition === "behind") return `it is ${member.lag} blocks behind`;
    if (condition === "catching up") return "it is still loading older blocks";
    return condition === "good" ? undefined : lastFailure;
  }

  const member: Member = {
    endpoint,
    lag: 0n,
    get reading() {
      return reading;
    },
    get condition() {
      return conditionNow();
    },
    get failures() {
      return breaker.failures;
    },
    get latencyMs() {
      return latencyMs;
    },
    get state() {
      const condition = conditionNow();
      const { lag } = member;
      const trouble = troubleNow(condition);
      const { height, earliestHeight } = reading ?? {};
      return { name: endpoint.name, condition, height, earliestHeight, lag, latencyMs, trouble, counts };
    },
    admit: breaker.admit,
    call,
    async read(bounds) {
      const status = await call("status", {}, (result) => readStatus(endpoint.name, result), bounds);
      reading = { ...status, atMs: clock.monotonicMs() };
      return reading;
    },
  };
  return member;
}
