/** So many at once, and who waits does so in the line of his own place: places take turns, so that a long line holds up no other. */

/** Does the work when it is the place's turn. */
type FairTurns = <T>(place: string, work: () => Promise<T>) => Promise<T>;

export function createFairTurns(most: number): FairTurns {
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
