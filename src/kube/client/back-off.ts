/** How long to wait before the next try: what the server asked for, or longer with every failure. */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { limits } from "../../runtime/limits.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import { retryAfterMsOf } from "./refusal.ts";

export function backOffMs(random: Random, failures: number, thrown?: unknown): number {
  const growing = growingPauseMs(limits.kubeRetryFirstMs, limits.kubeRetryMostMs, failures);
  return jitter(random, retryAfterMsOf(thrown) ?? growing);
}
