/** What becomes of a pause when another is asked for. */
import { isPausing, type Switch } from "../journal/switches.ts";

interface Pause {
  readonly reason: string;
  readonly fromMs?: Switch["fromMs"] | undefined;
}

/** One that holds goes on until `resume`: to plan another must not let us bid in between. */
export function nextPause(before: Pause | undefined, asked: Pause, nowMs: number): Pick<Switch, "reason" | "fromMs"> {
  const { reason } = asked;
  const fromMs = isPausing(before, nowMs) ? before?.fromMs : asked.fromMs;
  return { reason, ...(fromMs !== undefined && { fromMs }) };
}
