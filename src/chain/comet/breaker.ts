/** Leaves a node alone after it failed several times in a row, and tries it again now and then, one call at a time. */
import type { Clock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { jitter, type Random } from "../../runtime/random.ts";

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
