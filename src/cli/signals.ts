import { constants } from "node:os";

/** The first signal asks the program to stop in order; the second one is impatience, and ends it on the spot. */
export function abortOnSignals(): AbortSignal {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (abort.signal.aborted) process.exit(128 + constants.signals[signal]);
      abort.abort();
    });
  }
  return abort.signal;
}
