/**
 * When the probes of a container will pass and fail. It follows from its behaviour, so nothing ticks: the kubelet looks
 * again at the times that matter.
 */
import type { Container, Probe } from "../shapes/pod.ts";
import type { FullBehaviour } from "./behaviour.ts";

export interface ProbeTimes {
  readonly startedAtMs: number;
  readonly readyAtMs: number;
  readonly unreadyAtMs: number;
  /** It is killed for it; Infinity for never. */
  readonly killAtMs: number;
  readonly killedBy: "startup" | "liveness";
}

const never = Number.POSITIVE_INFINITY;

export function probeTimes(container: Container, behaviour: FullBehaviour, runningSinceMs: number): ProbeTimes {
  const { readinessProbe, livenessProbe, startupProbe } = container;
  const passesMs = runningSinceMs + behaviour.readyMs;
  const failsMs = runningSinceMs + (behaviour.unhealthyAfterMs ?? never);
  let startedAtMs = runningSinceMs;
  if (startupProbe) {
    const { firstMs, periodMs, failures } = timing(startupProbe, runningSinceMs);
    startedAtMs = tickAt(startupProbe, runningSinceMs, passesMs);
    const givesUpMs = firstMs + (failures - 1) * periodMs;
    if (startedAtMs > givesUpMs) {
      return { startedAtMs: never, readyAtMs: never, unreadyAtMs: never, killAtMs: givesUpMs, killedBy: "startup" };
    }
  }
  return {
    startedAtMs,
    readyAtMs: readinessProbe ? passedAt(readinessProbe, runningSinceMs, Math.max(passesMs, startedAtMs)) : startedAtMs,
    unreadyAtMs: readinessProbe ? failedAt(readinessProbe, runningSinceMs, failsMs) : never,
    killAtMs: livenessProbe ? failedAt(livenessProbe, runningSinceMs, failsMs) : never,
    killedBy: "liveness",
  };
}

function passedAt(probe: Probe, sinceMs: number, fromMs: number): number {
  const { periodMs, successes } = timing(probe, sinceMs);
  return tickAt(probe, sinceMs, fromMs) + (successes - 1) * periodMs;
}

function failedAt(probe: Probe, sinceMs: number, fromMs: number): number {
  const { periodMs, failures } = timing(probe, sinceMs);
  return tickAt(probe, sinceMs, fromMs) + (failures - 1) * periodMs;
}

/** The first probe at that time or later. */
function tickAt(probe: Probe, sinceMs: number, fromMs: number): number {
  const { firstMs, periodMs } = timing(probe, sinceMs);
  return firstMs + Math.max(0, Math.ceil((fromMs - firstMs) / periodMs)) * periodMs;
}

/** With the API's defaults, for probes that never passed an API server. */
function timing(probe: Probe, sinceMs: number) {
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
  return {
    firstMs: sinceMs + initialDelaySeconds * 1_000,
    periodMs: periodSeconds * 1_000,
    successes: successThreshold,
    failures: failureThreshold,
  };
}
