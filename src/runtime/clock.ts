/** The only file that knows what time it is. Everything else is handed a Clock, so that tests can drive it. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. It can jump; never measure a duration with it. */
  now(): number;
  /** A reading in milliseconds that only grows, for durations and deadlines. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs`. */
  timer(delayMs: number, fire: () => void): Timer;
  /** Lets the event loop breathe: resolves after the I/O that is already waiting was served. */
  yield(): Promise<void>;
}

export interface Timer {
  cancel(): void;
}

/** Node fires a longer timer at once instead; no caller means that. */
const longestTimerMs = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  timer(delayMs, fire) {
    const handle = setTimeout(fire, Math.min(delayMs, longestTimerMs));
    return { cancel: () => clearTimeout(handle) };
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as that is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.timer(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** What `work` yields, or `late()` when it has not settled within `limitMs`. The work itself goes on. */
export async function withDeadline<T, L>(
  clock: Clock,
  limitMs: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  let timer: Timer | undefined;
  const deadline = new Promise<L>((resolve, reject) => {
    timer = clock.timer(limitMs, () => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    timer?.cancel();
  }
}

/** "2026-11-15T08:55:00.000Z", the one way a time is written for people and files. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** "Sun, 15 Nov 2026 08:55:00 GMT", as HTTP has it in headers. */
export function formatHttpTime(ms: number): string {
  return new Date(ms).toUTCString();
}

/** "2026-11-15 08:55:00.123 +0000 UTC", as Go prints a time. */
export function formatGoTime(ms: number): string {
  return formatTime(ms).replace("T", " ").replace("Z", " +0000 UTC");
}

/** The day of UTC: "2026-11-16". */
export function formatDay(ms: number): string {
  return formatTime(ms).split("T")[0] ?? "";
}

/** NaN for what is no time. */
export function parseTime(text: string): number {
  return Date.parse(text);
}

const nsPerMs = 1_000_000n;

/** The chain counts in nanoseconds, everything else here in milliseconds. */
export function msToNs(ms: number): bigint {
  return BigInt(Math.floor(ms)) * nsPerMs;
}

export function nsToMs(ns: bigint): number {
  return Number(ns / nsPerMs);
}
