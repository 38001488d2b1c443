/** Merges async iterables: each source is asked for more when its last value was taken. */

interface Merge<T> {
  add(source: AsyncIterable<T>): void;
  /** No other source comes: it is over with the last of them. */
  finish(): void;
  /** In the order in which it comes. Throws what a source throws. Whoever leaves early ends the sources by himself. */
  values(): AsyncGenerator<T>;
}

export function createMerge<T>(): Merge<T> {
  /** What has come and was not taken, each with how to have more of the same source. */
  const here: { readonly take: () => T; readonly more: () => void }[] = [];
  let open = 0;
  let isFinished = false;
  let failure: { readonly thrown: unknown } | undefined;
  let wake: (() => void) | undefined;
  const news = () => wake?.();

  async function ask(source: AsyncIterator<T>): Promise<void> {
    try {
      const { done, value } = await source.next();
      if (done) open -= 1;
      else here.push({ take: () => value, more: () => void ask(source) });
    } catch (thrown) {
      failure ??= { thrown };
    }
    news();
  }

  return {
    add(source) {
      open += 1;
      void ask(source[Symbol.asyncIterator]());
    },
    finish() {
      isFinished = true;
      news();
    },
    async *values() {
      for (;;) {
        const next = here.shift();
        if (next) {
          yield next.take();
          // Not before: of each source no more is held than what is being taken.
          next.more();
          continue;
        }
        if (failure) throw failure.thrown;
        if (isFinished && open === 0) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
