/**
 * Every step along the chain, one at a time: the mirror takes it in, then the listeners are told. Keys that changed are
 * owed until all listeners have taken them: the mirror finds a change only once, so what a listener could not take comes
 * again with the next step.
 */
import type { MirrorKey, Step, StepListener } from "../chain.ts";
import type { BlockConsumer } from "./follower.ts";
import type { Mirror } from "./mirror/mirror.ts";

interface Steps extends BlockConsumer {
  onStep(listener: StepListener): void;
  /** Compares the mirror with the chain's lists and puts right what differs; gives what did. */
  compare(signal?: AbortSignal): Promise<readonly MirrorKey[]>;
}

export function createSteps(mirror: Pick<Mirror, "apply" | "build" | "compare">): Steps {
  const listeners: StepListener[] = [];
  const owed = new Map<string, MirrorKey>();
  let turn: Promise<unknown> = Promise.resolve();

  function take(make: () => Promise<Step>): Promise<readonly MirrorKey[]> {
    const mine = turn.then(async () => {
      const step = await make();
      if (step.block || step.gap || step.changed.length > 0) await tell(step);
      return step.changed;
    });
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function tell(step: Step): Promise<void> {
    for (const each of step.changed) owed.set(`${each.kind} ${each.key}`, each);
    const whole = { ...step, changed: [...owed.values()] };
    for (const listener of listeners) await listener(whole);
    owed.clear();
  }

  return {
    onStep: (listener) => void listeners.push(listener),
    block: (block, head) => take(async () => ({ block, changed: await mirror.apply(block, head) })),
    gap: (gap) => take(async () => ({ gap, changed: await mirror.build(gap.to) })),
    async compare(signal) {
      const { adopt } = await mirror.compare(signal);
      return take(async () => ({ changed: await adopt() }));
    },
  };
}
