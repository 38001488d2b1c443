/**
 * Tells the listeners of every step, one step at a time. Keys that changed are owed until all listeners have taken them:
 * the mirror finds a change only once, so what a listener could not take comes again with the next step.
 */
import type { Step, StepListener } from "../chain.ts";
import type { CursorUnit } from "./cursor-writer.ts";
import type { MirrorKey } from "./mirror/mirror-state.ts";

export interface Telling {
  add(listener: StepListener): void;
  /** Gives what the listeners want written. With `write` that is done first, and keys are owed until it is. */
  tell(step: Step, write?: (unit: CursorUnit) => Promise<void>): Promise<CursorUnit | undefined>;
}

export function createTelling(): Telling {
  const listeners: StepListener[] = [];
  const owed = new Map<string, MirrorKey>();
  let turn: Promise<unknown> = Promise.resolve();

  async function tellNow(step: Step, write?: (unit: CursorUnit) => Promise<void>): Promise<CursorUnit | undefined> {
    for (const each of step.changed) owed.set(`${each.kind} ${each.key}`, each);
    const whole = { ...step, changed: [...owed.values()] };
    const units: CursorUnit[] = [];
    for (const listener of listeners) {
      const unit = await listener(whole);
      if (unit) units.push(unit);
    }
    const unit = together(units);
    if (unit) await write?.(unit);
    owed.clear();
    return unit;
  }

  return {
    add: (listener) => void listeners.push(listener),
    tell(step, write) {
      const mine = turn.then(() => tellNow(step, write));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
}

function together(units: readonly CursorUnit[]): CursorUnit | undefined {
  if (units.length === 0) return undefined;
  return (tables) => {
    for (const unit of units) unit(tables);
  };
}
