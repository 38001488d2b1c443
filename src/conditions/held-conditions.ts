/**
 * Which conditions hold, and since when. One counts when it has been there for a moment, and is over when it has been gone
 * for one: what flickers is told once.
 */
import type { ConditionRow } from "../journal/conditions.ts";
import type { Condition } from "../runtime/condition.ts";
import { limits } from "../runtime/limits.ts";
import type { GatheredConditions } from "../runtime/process.ts";

export interface HeldCondition extends Condition {
  readonly sinceMs: number;
}

interface Entry {
  readonly type: string;
  readonly subject: string;
  message: string;
  readonly sinceMs: number;
  /** By the clock that never jumps: when it was first and last said. */
  readonly firstMs: number;
  lastMs: number;
  /** "over": it holds no longer, and whoever was told of it is to be told so. */
  state: "new" | "held" | "over";
  /** Whoever is notified knows of it. */
  told: boolean;
}

export type HeldConditions = ReturnType<typeof createHeldConditions>;

export function createHeldConditions(kept: readonly ConditionRow[], startMs: number) {
  const entries = new Map<string, Entry>();
  for (const row of kept) {
    // It held when we last looked; whether it still does is seen once everything runs.
    entries.set(keyOf(row), { ...row, firstMs: startMs, lastMs: startMs, state: "held" });
  }

  function take(condition: Condition, nowMs: number, atMs: number): Entry | undefined {
    const key = keyOf(condition);
    const known = entries.get(key);
    if (known) return Object.assign(known, { message: condition.message, lastMs: atMs });
    if (entries.size >= limits.conditionsHeld) return undefined;
    const { type, subject = "", message } = condition;
    const entry: Entry = {
      type,
      subject,
      message,
      sinceMs: nowMs,
      firstMs: atMs,
      lastMs: atMs,
      state: "new",
      told: false,
    };
    entries.set(key, entry);
    return entry;
  }

  return {
    /** Returns the keys of those that begin or cease to hold by this look. */
    look({ conditions, isWhole }: GatheredConditions, nowMs: number, atMs: number): string[] {
      const changed: string[] = [];
      const become = (entry: Entry, state: Entry["state"]) => {
        entry.state = state;
        changed.push(keyOf(entry));
      };
      for (const condition of conditions) {
        const entry = take(condition, nowMs, atMs);
        if (entry?.state === "over" || (entry?.state === "new" && atMs - entry.firstMs >= limits.conditionSettleMs)) {
          become(entry, "held");
        }
      }
      for (const [key, entry] of entries) {
        if (entry.lastMs === atMs) continue;
        if (entry.state === "new") entries.delete(key);
        if (entry.state === "held" && isWhole && atMs - entry.lastMs >= limits.conditionSettleMs) become(entry, "over");
      }
      return changed;
    },
    get: (key: string): Readonly<Entry> | undefined => entries.get(key),
    noteTold(key: string, told: boolean): void {
      const entry = entries.get(key);
      if (entry) entry.told = told;
    },
    forget: (key: string) => void entries.delete(key),
    /** The oldest first. */
    held(): HeldCondition[] {
      const held = [...entries.values()].filter(({ state }) => state === "held");
      return held
        .sort((a, b) => a.sinceMs - b.sinceMs || (keyOf(a) < keyOf(b) ? -1 : 1))
        .map(({ type, subject, message, sinceMs }) => ({ type, ...(subject && { subject }), message, sinceMs }));
    },
    /** Keys of which whoever is notified does not know how they stand. */
    untold: () =>
      [...entries].filter(([, { state, told }]) => told !== (state === "held") && state !== "new").map(([key]) => key),
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
