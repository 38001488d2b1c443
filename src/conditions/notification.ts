/** Posts one change of a condition to whoever the operator wants told: once, within a time, and to nobody else. */
import { type Clock, formatTime } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { inTime, takeCredentials } from "../runtime/fetch-text.ts";
import type { HeldCondition } from "./held-conditions.ts";

/** A receiver of notifications that takes longer is not there. */
export const notifyAnswerMs = 10 * second;

export interface Receiver {
  /** May hold a secret, as those of chat programs do: it is never printed. */
  readonly url: string;
  /** Takes secrets out of what is sent. */
  readonly redact: (text: string) => string;
}

interface Notification {
  readonly type: "raised" | "cleared";
  readonly condition: HeldCondition;
  readonly provider: string;
}

/** Secrets are taken out of each text by itself: what looks like one may reach beyond the quotes around it. */
function notificationBody({ type, condition, provider }: Notification, redact: Receiver["redact"]): string {
  const { type: name, status, reason, subject, message, sinceMs } = condition;
  const about = { condition: name, ...(subject && { subject }), status, reason, message };
  const body = { type, ...about, since: formatTime(sinceMs), provider };
  return JSON.stringify(body, (_, value) => (typeof value === "string" ? redact(value) : value));
}

/** Resolves when it was taken; throws in words, without the address. */
export function post(
  { url: given, redact }: Receiver,
  notification: Notification,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const body = notificationBody(notification, redact);
  return inTime({ limitMs: notifyAnswerMs, clock, signal }, async (until) => {
    const url = new URL(given);
    const headers = { "content-type": "application/json", ...takeCredentials(url) };
    // What leads elsewhere would take what we say to somebody that nobody has named.
    const answer = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: until });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the receiver answered ${answer.status}`);
  });
}
