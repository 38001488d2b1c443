/** Times as objects carry them: whole seconds, in UTC; Events of the newer way have millionths of them. */
import { formatTime } from "../../../../runtime/clock.ts";

let lastSecond = Number.NaN;
let lastStamp = "";

/** "2026-11-15T08:55:00Z". Many are written within one second, so that one is remembered. */
export function stampOf(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== lastSecond) lastStamp = `${formatTime(second * 1_000).slice(0, 19)}Z`;
  lastSecond = second;
  return lastStamp;
}

/** "10s", "1m20s", "5m0s": as the Kubernetes components write a duration. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** "2026-11-15T08:55:00.123000Z", with exactly six digits after the second. */
export function microStampOf(ms: number): string {
  return formatTime(ms).replace("Z", "000Z");
}
