/** A semaphore in order of priority and arrival. All below "normal" hold at most `mostLow`. */
import { invariant } from "./invariant.ts";

const priorities = ["normal", "later", "low"] as const;
export type SemaphorePriority = (typeof priorities)[number];

interface Semaphore {
  /** Resolves with how to give the slot back; rejects with the signal's reason, and then holds none. */
  acquire(signal: AbortSignal, priority?: SemaphorePriority): Promise<() => void>;
  readonly taken: number;
  readonly waiting: number;
}

export function createSemaphore(most: number, mostLow = most): Semaphore {
  const lines = { normal: new Set<() => void>(), later: new Set<() => void>(), low: new Set<() => void>() };
  const taken = { normal: 0, later: 0, low: 0 };

  function isFree(priority: SemaphorePriority): boolean {
    const below = taken.later + taken.low;
    return taken.normal + below < most && (priority === "normal" || below < mostLow);
  }

  function slot(priority: SemaphorePriority): () => void {
    let held = true;
    return () => {
      invariant(held, "a slot is given back once");
      held = false;
      taken[priority] -= 1;
      // The slot goes to the next in line without being free in between.
      for (const next of priorities) {
        const [enter] = lines[next];
        if (enter && isFree(next)) return enter();
      }
    };
  }

  return {
    async acquire(signal, priority = "normal") {
      signal.throwIfAborted();
      const line = lines[priority];
      if (isFree(priority)) {
        taken[priority] += 1;
        return slot(priority);
      }
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          line.delete(enter);
          reject(signal.reason);
        };
        const enter = () => {
          line.delete(enter);
          taken[priority] += 1;
          signal.removeEventListener("abort", leave);
          resolve();
        };
        line.add(enter);
        signal.addEventListener("abort", leave, { once: true });
      });
      return slot(priority);
    },
    get taken() {
      return taken.normal + taken.later + taken.low;
    },
    get waiting() {
      return lines.normal.size + lines.later.size + lines.low.size;
    },
  };
}

/** Runs the work when it is the client's turn. */
type FairSemaphore = <T>(place: string, work: () => Promise<T>) => Promise<T>;

/** A semaphore with one queue per client, served round-robin, so that a client's long queue delays no other. */
export function createFairSemaphore(most: number): FairSemaphore {
  /** Whose turn it is longest first. */
  const lines = new Map<string, (() => void)[]>();
  let taken = 0;

  function wait(place: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const line = lines.get(place);
    if (line) line.push(resolve);
    else lines.set(place, [resolve]);
    return promise;
  }

  /** The next one takes what becomes free, without its being free in between. */
  function handOn(): void {
    const [first] = lines;
    if (!first) {
      taken -= 1;
      return;
    }
    const [place, line] = first;
    const next = line.shift();
    lines.delete(place);
    if (line.length > 0) lines.set(place, line);
    next?.();
  }

  return async (place, work) => {
    if (taken >= most) await wait(place);
    else taken += 1;
    try {
      return await work();
    } finally {
      handOn();
    }
  };
}

/** A mutex for each key. `busy` is thrown at who would wait behind as many as may. */
export function createKeyedMutex(mostWaiting: number, busy: (waiting: number) => Error) {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>();
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (line.waiting >= mostWaiting) throw busy(line.waiting);
    lines.set(key, line);
    line.waiting += 1;
    const turn = line.last.then(work, work);
    line.last = turn;
    try {
      return await turn;
    } finally {
      line.waiting -= 1;
      if (line.waiting === 0) lines.delete(key);
    }
  };
}
