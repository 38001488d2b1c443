/** Fetches several things at once and gives them out one after the other, in order. */

type Settled<T> = { readonly value: T } | { readonly error: unknown };

/** Stops at the first that fails and throws its error; those that were fetched ahead of it are given up. */
export async function* readAhead<T>(
  from: bigint,
  to: bigint,
  width: number,
  fetch: (number: bigint, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const givenUp = new AbortController();
  const either = AbortSignal.any([signal, givenUp.signal]);
  const fetched: Promise<Settled<T>>[] = [];
  let next = from;
  try {
    for (let due = from; due <= to; due += 1n) {
      while (fetched.length < width && next <= to) {
        fetched.push(settled(fetch(next, either)));
        next += 1n;
      }
      const result = (await fetched.shift()) as Settled<T>;
      if ("error" in result) throw result.error;
      yield result.value;
    }
  } finally {
    givenUp.abort(new Error("no longer wanted"));
  }
}

/** Its failure waits until its turn comes, and is no unhandled one meanwhile. */
function settled<T>(work: Promise<T>): Promise<Settled<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}
