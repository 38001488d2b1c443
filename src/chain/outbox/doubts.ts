/** Intents that a node would not run. It may be confused, or not know the newest order yet: they are tried again. */
import type { Intent } from "../../journal/intents.ts";
import { limits } from "../../runtime/limits.ts";
import type { Head } from "./broadcaster.ts";

export interface Doubts {
  /** The node says that it cannot be done. True when that is to be believed: a second no, at a later height. */
  refused(intent: Intent, head: Head, named: boolean): boolean;
  /** The node says that it cannot be done now. True when it has said so too often. */
  notNow(intent: Intent, head: Head): boolean;
  /** Whether it waits for a block after this head. */
  setAside(intent: Intent, head: Head): boolean;
  /** Whether it must travel alone: nobody said which message of its group was wrong. */
  nameless(intent: Intent): boolean;
  /** The node ran it, or it is settled. */
  forget(id: number): void;
}

interface Doubt {
  /** Where the node first said that it cannot be done. */
  readonly refusedAt?: bigint | undefined;
  /** The last head at which it is left alone. */
  readonly until: bigint;
  readonly named: boolean;
  readonly delays: number;
}

export function createDoubts(): Doubts {
  const doubts = new Map<number, Doubt>();
  return {
    refused({ id }, { height }, named) {
      const { refusedAt = height, delays = 0 } = doubts.get(id) ?? {};
      doubts.set(id, { refusedAt, until: height, named, delays });
      return height > refusedAt;
    },
    notNow({ id }, { height }) {
      const known = doubts.get(id);
      const delays = (known?.delays ?? 0) + 1;
      // After one block, then ever later.
      const until = height + 2n ** BigInt(delays - 1) - 1n;
      doubts.set(id, { refusedAt: known?.refusedAt, until, named: true, delays });
      return delays > limits.outboxDelays;
    },
    setAside: ({ id }, { height }) => (doubts.get(id)?.until ?? -1n) >= height,
    nameless: ({ id }) => doubts.get(id)?.named === false,
    forget: (id) => void doubts.delete(id),
  };
}
