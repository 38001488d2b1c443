/**
 * How the host names of leases are doing, as the hostname operator says: it streams all of them first, and then those that
 * change. Only for telling: nothing waits for it, and without it nothing is known of any name.
 */
import { formatLeaseId } from "../../market/ids.ts";
import { sleep } from "../../runtime/clock.ts";
import { operatorHostnameV1State, operatorHostnameV1StateRequest } from "../../runtime/grpc/akash-proto.ts";
import type { GrpcAddress } from "../../runtime/grpc/grpc-client.ts";
import { limits } from "../../runtime/limits.ts";
import { followOperator, type OperatorConnection, type OperatorFeedDeps } from "../operator-follower.ts";

export interface HostHealth {
  readonly host: string;
  /** The key of the lease that it leads to; "" where the operator does not know. */
  readonly lease: string;
  /** What becomes of a request for it, in one word: waiting and refused are not served at all. */
  readonly health: HostHealthWord;
  /** What is wrong, in words. */
  readonly why: string;
}

export const hostHealthWords = ["healthy", "unhealthy", "unknown", "waiting", "refused"] as const;
type HostHealthWord = (typeof hostHealthWords)[number];

export interface HostnameOperator {
  /** Undefined where nothing is known of it. */
  of(host: string): HostHealth | undefined;
  all(): Iterable<HostHealth>;
  /** Those that have not been well for longer than it takes to start something. */
  unwell(): HostHealth[];
  readonly isConnected: boolean;
  /** Why nothing is known, where it was known once, or there has been an operator for a while to know it from. */
  readonly trouble: string | undefined;
  /** Follows it until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface Known extends HostHealth {
  /** Since when it is not well, by the clock that never jumps. */
  readonly unwellSinceMs: number | undefined;
}

const service = "/akash.operator.hostname.v1.HostnameRPC";

export function createHostnameOperator(deps: OperatorFeedDeps): HostnameOperator {
  const { clock, log } = deps;
  const hosts = new Map<string, Known>();
  /** By the connection before, until this one has told all: what was not well is so since then. */
  let before = new Map<string, Known>();
  let isConnected = false;
  let wasConnected = false;
  let lastError: string | undefined;
  /** Since when there is an operator; a cluster need not have one that can be followed. */
  let foundAtMs: number | undefined;

  async function locate(signal: AbortSignal): Promise<GrpcAddress> {
    const found = await deps.locate(signal);
    foundAtMs ??= clock.monotonicMs();
    return found;
  }

  function isMissed(): boolean {
    const isLong = foundAtMs !== undefined && clock.monotonicMs() - foundAtMs >= limits.healthStartingMs;
    return !isConnected && (wasConnected || isLong);
  }

  function take(told: Told): void {
    if (told.whole) {
      before = new Map(hosts);
      hosts.clear();
    }
    for (const host of told.gone) hosts.delete(host);
    for (const each of told.hostnames) {
      if (hosts.size >= limits.hostnamesKnown && !hosts.has(each.hostname)) continue;
      const health = healthOf(each);
      const isWell = health.health === "healthy" || health.health === "unknown";
      const known = hosts.get(health.host) ?? before.get(health.host);
      const since = known?.unwellSinceMs ?? clock.monotonicMs();
      hosts.set(health.host, { ...health, unwellSinceMs: isWell ? undefined : since });
    }
    if (told.settled) before = new Map();
  }

  async function followStream({ client, heard }: OperatorConnection): Promise<void> {
    for await (const message of client.stream(
      `${service}/StreamState`,
      operatorHostnameV1StateRequest.encode({ hostnames: [] }),
    )) {
      take(operatorHostnameV1State.decode(message));
      if (!isConnected) log.info("following hostname operator");
      isConnected = true;
      wasConnected = true;
      heard();
      lastError = undefined;
    }
  }

  /** A stream is silent while nothing changes; a connection that died without a word is noticed by asking. */
  async function proveAlive({ client, signal }: OperatorConnection): Promise<never> {
    for (;;) {
      await sleep(clock, limits.feedProofMs, signal);
      await client.call(`${service}/GetStatus`, new Uint8Array(), limits.feedAnswerMs);
    }
  }

  async function follow(connection: OperatorConnection): Promise<void> {
    try {
      await Promise.race([followStream(connection), proveAlive(connection)]);
    } finally {
      isConnected = false;
    }
  }

  function failed(reason: string): void {
    if (reason !== lastError) log.info("hostname feed interrupted", { reason });
    lastError = reason;
  }

  const bounds = { mostBytes: limits.hostnameStateBytes, retryMostMs: limits.hostnameRetryMostMs };
  return {
    // What was told before the connection broke may be otherwise by now.
    of: (host) => (isConnected ? hosts.get(host) : undefined),
    all: () => (isConnected ? hosts.values() : []),
    unwell() {
      const longAgoMs = clock.monotonicMs() - limits.healthStartingMs;
      const all = isConnected ? [...hosts.values()] : [];
      return all.filter(({ unwellSinceMs }) => unwellSinceMs !== undefined && unwellSinceMs <= longAgoMs);
    },
    get isConnected() {
      return isConnected;
    },
    get trouble() {
      return isMissed() ? `the hostname operator is not followed: ${lastError ?? "connecting"}` : undefined;
    },
    run: (signal) => followOperator({ ...bounds, follow, failed }, { ...deps, locate }, signal),
  };
}

type Told = ReturnType<typeof operatorHostnameV1State.decode>;

function healthOf({ hostname, leaseId, state, health, conditions }: Told["hostnames"][number]): HostHealth {
  const word = state === "served" ? health : state;
  return {
    host: hostname,
    lease: leaseId ? formatLeaseId(leaseId as Parameters<typeof formatLeaseId>[0]) : "",
    health: hostHealthWords.find((each) => each === word) ?? "unknown",
    why: conditions
      .slice(0, limits.leaseTroublesTold)
      .map(({ type, message }) => `${type}: ${message}`)
      .join("; "),
  };
}
