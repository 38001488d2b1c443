/**
 * Fetches several things at once and gives them out one after the other, in order. When what came ahead of its turn grows
 * too large, the furthest ahead is given up and fetched again later: nobody knows the size of a thing before it comes.
 */

export interface AheadBounds {
  /** Things at once. */
  readonly width: number;
  /** Of things that wait for their turn; a single one may be larger. */
  readonly bytes: number;
}

export interface Fetching {
  readonly signal: AbortSignal;
  /** So much more has come. */
  took(bytes: number): void;
}

interface Ahead<T> {
  readonly number: bigint;
  readonly stop: AbortController;
  readonly result: Promise<Settled<T>>;
  bytes: number;
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** Stops at the first that fails and throws its error; those that were fetched ahead of it are given up. */
export async function* readAhead<T>(
  from: bigint,
  to: bigint,
  { width, bytes: mostBytes }: AheadBounds,
  fetch: (number: bigint, fetching: Fetching) => Promise<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const ahead: Ahead<T>[] = [];
  let next = from;
  let room = width;
  let heldBytes = 0;

  function start(): void {
    const stop = new AbortController();
    if (signal.aborted) stop.abort(signal.reason);
    const took = (bytes: number) => {
      if (stop.signal.aborted) return;
      mine.bytes += bytes;
      heldBytes += bytes;
      while (heldBytes > mostBytes && ahead.length > 1) giveUpLast();
    };
    const mine = { number: next, stop, bytes: 0, result: settled(fetch(next, { signal: stop.signal, took })) };
    ahead.push(mine);
    next += 1n;
  }

  function giveUpLast(): void {
    const last = ahead.pop();
    if (!last) return;
    last.stop.abort(new Error("too much came ahead of it"));
    heldBytes -= last.bytes;
    next = last.number;
    room = ahead.length;
  }

  function giveUpAll(reason: unknown): void {
    for (const { stop } of ahead) stop.abort(reason);
  }

  const onAbort = () => giveUpAll(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (let due = from; due <= to; due += 1n) {
      while (ahead.length < room && next <= to && (heldBytes < mostBytes || next === due)) start();
      const [first] = ahead as [Ahead<T>];
      const result = await first.result;
      if ("error" in result) throw result.error;
      yield result.value;
      ahead.shift();
      heldBytes -= first.bytes;
      room = Math.min(room + 1, width);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    giveUpAll(new Error("no longer wanted"));
  }
}

/** Its failure waits until its turn comes, and is no unhandled one meanwhile. */
function settled<T>(work: Promise<T>): Promise<Settled<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}
