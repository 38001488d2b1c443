/** The health of host names as the hostname operator streams it: first all, then changes. For display only. */
import { formatLeaseId } from "../../../market/ids.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import {
  operatorHostnameV1State,
  operatorHostnameV1StateRequest,
  operatorHostnameV1Status,
} from "../../../runtime/grpc/akash-proto.ts";
import type { GrpcTarget } from "../../../runtime/grpc/grpc-client.ts";
import { hostnameSightMs } from "../../../runtime/limits.ts";
import { feedProofMs } from "../../capacity/inventory/feed.ts";
import { feedAnswerMs } from "../../capacity/inventory/grpc-feed.ts";
import {
  followOperator,
  type OperatorConnection,
  type OperatorFeedDeps,
  type OperatorLocation,
  reachOperator,
  serviceNamed,
} from "../../capacity/operator-connection.ts";
import { healthStartingMs, leaseProblemsNamed } from "../../health/lease-health.ts";

/** Host names that are known of: ten times what a large provider serves. */
const hostnamesKnown = 50_000;
/** One message of its stream: a few hundred names with what is wrong with each. */
const hostnameStateBytes = 8 * 1024 * 1024;
/** Longest pause before it is looked for again: it may not be installed at all, and nothing waits for it. */
const hostnameRetryMostMs = minute;

export interface HostHealth {
  readonly host: string;
  /** The key of the lease that it leads to; "" where the operator does not know. */
  readonly lease: string;
  /** What becomes of a request for it, in one word: waiting and rejected are not served at all. */
  readonly health: HostHealthWord;
  readonly why: string;
}

export const hostHealthWords = ["healthy", "unhealthy", "unknown", "waiting", "refused"] as const;
type HostHealthWord = (typeof hostHealthWords)[number];

export type HostnameFeed = ReturnType<typeof createHostnameFeed>;

interface Known extends HostHealth {
  /** Since when it is unhealthy, by the clock that never jumps. */
  readonly unhealthySinceMs: number | undefined;
  readonly unknownSinceMs: number | undefined;
}

const bounds = { mostBytes: hostnameStateBytes, retryMostMs: hostnameRetryMostMs };
const service = "/akash.operator.hostname.v1.HostnameRPC";

export function createHostnameFeed(deps: OperatorFeedDeps) {
  const { clock, log } = deps;
  const known = createKnownHosts(clock);
  let isConnected = false;
  /** Why the operator does not see the cluster, by its last word; "" where it does. */
  let waitingFor = "";
  let wasWaiting = false;
  /** It was followed once, and saw the cluster. */
  let wasKnown = false;
  let lastError: string | undefined;
  /** There is an operator that cannot be followed. */
  let isOther = false;
  /** Since when there is an operator; a cluster need not have one that can be followed. */
  let foundAtMs: number | undefined;
  const startedMs = clock.monotonicMs();

  async function locate(signal: AbortSignal): Promise<GrpcTarget> {
    try {
      const found = await deps.locate(signal);
      foundAtMs ??= clock.monotonicMs();
      return found;
    } catch (thrown) {
      isOther = ProviderError.is(thrown, "AKP_OPERATOR_NOT_FOUND") && thrown.details["isOther"] === true;
      throw thrown;
    }
  }

  function whyUnknown(): string | undefined {
    if (!isConnected) return `the hostname operator is not followed: ${lastError ?? "connecting"}`;
    // A connection to the cluster that is made again is no news; who waits at two looks running does not see it.
    return waitingFor && wasWaiting ? `the hostname operator does not see the cluster: ${waitingFor}` : undefined;
  }

  async function followStream({ client, heard }: OperatorConnection): Promise<void> {
    const request = operatorHostnameV1StateRequest.encode({ hostnames: [] });
    for await (const message of client.stream(`${service}/StreamState`, request)) {
      known.take(operatorHostnameV1State.decode(message));
      if (!isConnected) log.info("following hostname operator");
      isConnected = true;
      wasKnown ||= waitingFor === "";
      heard();
      lastError = undefined;
    }
  }

  async function askStatus({ client }: OperatorConnection): Promise<void> {
    const status = await client.call(`${service}/GetStatus`, new Uint8Array(), feedAnswerMs);
    wasWaiting = waitingFor !== "";
    ({ waitingFor } = operatorHostnameV1Status.decode(status));
    // One that has just read the cluster has yet to look at each name; what it has not reported by the next time is gone.
    if (waitingFor === "" && !wasWaiting) known.forgetStale();
  }

  /** A stream is silent while nothing changes; polling the status detects a dead connection. */
  async function proveAlive(connection: OperatorConnection): Promise<never> {
    for (;;) {
      await sleep(clock, waitingFor === "" ? feedProofMs : hostnameSightMs, connection.signal);
      await askStatus(connection);
    }
  }

  async function follow(connection: OperatorConnection): Promise<void> {
    // An operator that has just started sends an empty stream; its status says whether that is meaningful.
    waitingFor = "its first answer";
    await askStatus(connection);
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

  return {
    /** Undefined where nothing is known of it. What was reported before the connection broke may be out of date. */
    of: (host: string): HostHealth | undefined => (isConnected ? known.get(host) : undefined),
    all: (): Iterable<HostHealth> => (isConnected ? known.current() : []),
    /** Unhealthy for longer than it takes to start something, and not known to be healthy again. */
    unhealthy: (): HostHealth[] => (isConnected ? known.unhealthy() : []),
    /**
     * With a route of which no controller has said anything for as long. What is unknown because the operator does not see the
     * cluster is another condition.
     */
    unserved: (): string[] => (isConnected && waitingFor === "" ? known.unserved() : []),
    get isConnected(): boolean {
      return isConnected;
    },
    /** Why nothing is known, where it was known once, or there has been an operator for a while to know it from. */
    get error(): string | undefined {
      return wasKnown || isLongAgo(foundAtMs, clock) ? whyUnknown() : undefined;
    },
    /** Why there is no operator, where none was ever found for as long. The Go provider's counts, which cannot be followed. */
    get missing(): string | undefined {
      return foundAtMs === undefined && !isOther && isLongAgo(startedMs, clock) ? lastError : undefined;
    },
    run: (signal: AbortSignal) => followOperator({ ...bounds, follow, failed }, { ...deps, locate }, signal),
  };
}

function isLongAgo(sinceMs: number | undefined, clock: Pick<Clock, "monotonicMs">): boolean {
  return sinceMs !== undefined && clock.monotonicMs() - sinceMs >= healthStartingMs;
}

/** What the operator has reported of each name. */
function createKnownHosts(clock: Clock) {
  const hosts = new Map<string, Known>();
  /** Reported over connections before, and not yet over this one: an unhealthy one counts as unhealthy since then. */
  const stale = new Set<string>();
  const current = () => [...hosts.values()].filter(({ host }) => !stale.has(host));
  return {
    current,
    get: (host: string): HostHealth | undefined => (stale.has(host) ? undefined : hosts.get(host)),
    take(state: StreamedState): void {
      if (state.whole) for (const host of hosts.keys()) stale.add(host);
      for (const host of state.gone) forget(host);
      for (const each of state.hostnames) {
        const now = healthOf(each);
        const known = hosts.get(now.host);
        if (!known && hosts.size >= hostnamesKnown) continue;
        stale.delete(now.host);
        const nowMs = clock.monotonicMs();
        const unknownSinceMs = now.health === "unknown" ? (known?.unknownSinceMs ?? nowMs) : undefined;
        hosts.set(now.host, { ...now, unhealthySinceMs: unhealthySince(now, known, nowMs), unknownSinceMs });
      }
    },
    forgetStale: () => stale.forEach(forget),
    unhealthy: () => [...hosts.values()].filter(({ unhealthySinceMs }) => isLongAgo(unhealthySinceMs, clock)),
    unserved: () =>
      current()
        .filter(({ unknownSinceMs }) => isLongAgo(unknownSinceMs, clock))
        .map(({ host }) => host),
  };

  function forget(host: string): void {
    hosts.delete(host);
    stale.delete(host);
  }
}

/** What was unhealthy and is unknown stays unhealthy, unless it was not served at all and is now. */
function unhealthySince({ health }: HostHealth, known: Known | undefined, nowMs: number): number | undefined {
  if (health === "healthy") return undefined;
  if (health !== "unknown") return known?.unhealthySinceMs ?? nowMs;
  return known?.health === "unhealthy" || known?.health === "unknown" ? known.unhealthySinceMs : undefined;
}

type StreamedState = ReturnType<typeof operatorHostnameV1State.decode>;

function healthOf({ hostname, leaseId, state, health, conditions }: StreamedState["hostnames"][number]): HostHealth {
  const word = state === "served" ? health : state;
  return {
    host: hostname,
    lease: leaseId ? formatLeaseId(leaseId as Parameters<typeof formatLeaseId>[0]) : "",
    health: hostHealthWords.find((each) => each === word) ?? "unknown",
    why: conditions
      .slice(0, leaseProblemsNamed)
      .map(({ type, message }) => `${type}: ${message}`)
      .join("; "),
  };
}

const sought = {
  operator: "hostname operator",
  setting: "--hostname-operator-endpoint",
  // The network's own has no gRPC.
  portName: "grpc",
  ...serviceNamed("operator-hostname"),
} as const;

export function locateHostnameOperator(location: OperatorLocation, signal: AbortSignal): Promise<GrpcTarget> {
  return reachOperator(sought, location, signal);
}
