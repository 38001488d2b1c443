/** When a pause counts, and what becomes of one when another is asked for. */
import type { Switch } from "../journal/switches.ts";

interface Pause {
  readonly reason: string;
  readonly fromMs?: Switch["fromMs"] | undefined;
}

/** One that is planned does not count before its time. */
export function isPausing(pause: Pause | undefined, nowMs: number): boolean {
  return pause !== undefined && (pause.fromMs ?? 0) <= nowMs;
}

/** One that holds goes on until `resume`: to plan another must not let us bid in between. */
export function nextPause(before: Pause | undefined, asked: Pause, nowMs: number): Pick<Switch, "reason" | "fromMs"> {
  const { reason } = asked;
  const fromMs = isPausing(before, nowMs) ? before?.fromMs : asked.fromMs;
  return { reason, ...(fromMs !== undefined && { fromMs }) };
}
