/** Works on one thing at a time for each key, and on different keys at once. */

/** `busy` is thrown at who would wait behind as many as may. */
export function createTurns(mostWaiting: number, busy: (waiting: number) => Error) {
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
