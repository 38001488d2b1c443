/** Conditions that hold, and since when. Each must be present or gone for a moment first: what flickers is reported once. */
import type { ConditionRow } from "../journal/tables.ts";
import { type Clock, formatTime } from "../runtime/clock.ts";
import { type Condition, condition } from "../runtime/condition.ts";
import { second } from "../runtime/durations.ts";
import { inTime, takeCredentials } from "../runtime/fetch-text.ts";
import type { ConditionSnapshot, ServiceCondition } from "../runtime/process.ts";

/** How long a condition must be there before it counts, and gone before it is over: two blocks, which most problems do not outlive. */
export const conditionSettleMs = 15 * second;
/** Conditions held at once: twice what all services together tell at most. */
export const conditionsHeld = 1_000;

export type HeldCondition = Condition & { readonly sinceMs: number };

interface Entry {
  /** As it was said last. */
  is: HeldCondition;
  /** By the clock that never jumps: when it was first and last said. */
  readonly firstMs: number;
  lastMs: number;
  /** Who said it last; none for one that was kept from before a restart and that nobody has said since. */
  service: string | undefined;
  /** "over": it holds no longer, and the receiver that knows of it is to be told so. */
  state: "new" | "held" | "over";
  /** The receiver of notifications knows of it. */
  told: boolean;
}

interface Looked {
  readonly changed: readonly string[];
  readonly again: readonly string[];
}

export type HeldConditions = ReturnType<typeof createHeldConditions>;

export function createHeldConditions(kept: readonly ConditionRow[], startMs: number) {
  const entries = new Map<string, Entry>();
  for (const { type, subject, message, sinceMs, notified: told } of kept) {
    // It held when we last looked; whether it still does is seen once everything runs.
    const unseen = { status: "Unknown", reason: "NotSeenSinceRestart", ...(subject && { subject }) } as const;
    const is = { ...condition(type, message, unseen), sinceMs };
    entries.set(keyOf(is), { is, told, firstMs: startMs, lastMs: startMs, service: undefined, state: "held" });
  }

  function take({ service, ...said }: ServiceCondition, nowMs: number, atMs: number): Entry | undefined {
    const key = keyOf(said);
    const known = entries.get(key);
    const is = { ...said, sinceMs: known?.is.sinceMs ?? nowMs };
    if (known) return Object.assign(known, { is, service, lastMs: atMs });
    if (entries.size >= conditionsHeld) return undefined;
    const entry: Entry = { is, service, firstMs: atMs, lastMs: atMs, state: "new", told: false };
    entries.set(key, entry);
    return entry;
  }

  return {
    /** Returns the keys of those that begin or cease to hold by this look, and of those that hold again since a restart. */
    look({ conditions, running, isComplete }: ConditionSnapshot, nowMs: number, atMs: number): Looked {
      const [changed, again]: [string[], string[]] = [[], []];
      const become = (entry: Entry, state: Entry["state"]) => {
        entry.state = state;
        changed.push(keyOf(entry.is));
      };
      for (const condition of conditions) {
        const before = entries.get(keyOf(condition));
        if (before && before.service === undefined) again.push(keyOf(condition));
        const entry = take(condition, nowMs, atMs);
        if (entry?.state === "over" || (entry?.state === "new" && atMs - entry.firstMs >= conditionSettleMs)) {
          become(entry, "held");
        }
      }
      // Who said it may take it back; of what was kept nobody knows whose it is.
      const isDenied = ({ service }: Entry) => (service === undefined ? isComplete : running.has(service));
      for (const [key, entry] of entries) {
        if (entry.lastMs === atMs) continue;
        if (entry.state === "new") entries.delete(key);
        const isGone = atMs - entry.lastMs >= conditionSettleMs;
        if (entry.state === "held" && isGone && isDenied(entry)) become(entry, "over");
      }
      return { changed, again };
    },
    get: (key: string): Readonly<Entry> | undefined => entries.get(key),
    noteTold(key: string, told: boolean): void {
      const entry = entries.get(key);
      if (entry) entry.told = told;
    },
    forget: (key: string) => void entries.delete(key),
    /** The oldest first. */
    held(): HeldCondition[] {
      const held = [...entries.values()].flatMap(({ is, state }) => (state === "held" ? [is] : []));
      return held.sort((a, b) => a.sinceMs - b.sinceMs || (keyOf(a) < keyOf(b) ? -1 : 1));
    },
  };
}

/** A type is one word. */
function keyOf({ type, subject = "" }: Pick<Condition, "type" | "subject">): string {
  return `${type} ${subject}`;
}

export function partsOf(key: string): [type: string, subject: string] {
  const [type = ""] = key.split(" ", 1);
  return [type, key.slice(type.length + 1)];
}

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
