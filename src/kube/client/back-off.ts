/** How long to wait before the next try: what the server asked for, or longer with every failure. */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { second } from "../../runtime/durations.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { retryAfterMsOf } from "./refusal.ts";

export const kubeRetryFirstMs = 250;
/** An API server that came back is noticed this soon. */
export const kubeRetryMostMs = 5 * second;

/** How much later than asked at most, so that not everybody who was asked comes back in the same instant. */
const laterShare = 0.2;

export function backOffMs(random: Random, failures: number, thrown?: unknown): number {
  const asked = retryAfterMsOf(thrown);
  // Never sooner than asked, only spread. A server that asks for no pause at all gets ours.
  if (asked) return asked * (1 + laterShare * random.next());
  return jitter(random, growingPauseMs(kubeRetryFirstMs, kubeRetryMostMs, failures));
}
