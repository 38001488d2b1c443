import type { VirtualClock } from "./virtual-clock.ts";

/** What the work comes to, with as much virtual time as it takes. */
export async function advanceUntilSettled<T>(clock: VirtualClock, work: Promise<T>, limitMs?: number): Promise<T> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  work.then(settle, settle);
  await clock.advanceUntil(() => settled, limitMs);
  return work;
}
