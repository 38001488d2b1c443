/** Keeps something going that ends with an error each time, as a connection does: again after a pause that grows. */
import { growingPauseMs } from "./back-off.ts";
import type { Clock } from "./clock.ts";
import { reasonOf } from "./errors.ts";
import { jitter, type Random } from "./random.ts";
import { createWakeSignal, type WakeSignal } from "./wake-signal.ts";

interface KeepTrying {
  /** `well` says that it works, so that the next pause is a short one. */
  readonly attempt: (well: () => void) => Promise<never>;
  readonly failed: (reason: string) => void;
  readonly firstMs: number;
  readonly mostMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Its ring ends a pause. */
  readonly pause?: WakeSignal | undefined;
  readonly retrying?: (() => void) | undefined;
}

/** Until the signal is aborted, which has to end an attempt as well. */
export async function keepTrying(
  { attempt, failed, firstMs, mostMs, clock, random, pause = createWakeSignal(clock), retrying }: KeepTrying,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  const well = () => {
    failures = 0;
  };
  while (!signal.aborted) {
    const reason = await attempt(well).catch(reasonOf);
    if (signal.aborted) return;
    failed(reason);
    failures += 1;
    await pause.wait(jitter(random, growingPauseMs(firstMs, mostMs, failures)), signal);
    retrying?.();
  }
}
