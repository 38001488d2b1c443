/** The pauses of a kubelet between tries: 10 s, doubling to 5 minutes, forgotten after 10 minutes without a failure. */
import { growingPauseMs } from "../../../../runtime/back-off.ts";

const firstMs = 10_000;
const mostMs = 300_000;
const forgetMs = 2 * mostMs;

export interface BackOff {
  /** How long to wait after a failure at that time; nothing after the first. */
  pauseMs(failedMs: number): number;
  /** Notes another try, and tells the pause that follows when it fails. */
  next(atMs: number): number;
}

export function createBackOff(): BackOff {
  let tries = 0;
  let lastTryMs = 0;
  const forget = (atMs: number) => {
    if (atMs - lastTryMs > forgetMs) tries = 0;
  };
  return {
    pauseMs(failedMs) {
      forget(failedMs);
      return tries === 0 ? 0 : growingPauseMs(firstMs, mostMs, tries);
    },
    next(atMs) {
      forget(atMs);
      tries += 1;
      lastTryMs = atMs;
      return growingPauseMs(firstMs, mostMs, tries);
    },
  };
}
