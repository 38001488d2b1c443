import assert from "node:assert/strict";
import { realClock, sleep, withDeadline } from "../../src/runtime/clock.ts";

/**
 * Waits for a condition of the real world with a limit; nothing in a test ever sleeps for a fixed time. Only what never
 * comes takes that long: the limit is patience with a machine that is busy with something else.
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 60_000,
): Promise<T> {
  const endMs = realClock.monotonicMs() + limitMs;
  const leftMs = () => Math.max(0, endMs - realClock.monotonicMs());
  const fail = (why: string) => assert.fail(`${what}: not seen within ${limitMs} ms${why}`);
  let last = "";
  for (;;) {
    const looking = (async () => look())().catch((error: unknown) => {
      last = ` (last: ${String(error)})`;
      return undefined;
    });
    const seen = await withDeadline(realClock, leftMs(), looking, () => fail(" (the last look has not settled)"));
    if (seen !== undefined && seen !== false) return seen;
    if (leftMs() === 0) fail(last);
    await sleep(realClock, 10);
  }
}
