/** A test, a file of tests, or one run of a property: what is started for it ends with it. */
export interface Owner {
  after(end: () => void | Promise<void>): void;
}

/** For one run of a property: `await using owner = createOwner()`. */
export function createOwner(): Owner & AsyncDisposable {
  const endings: (() => void | Promise<void>)[] = [];
  return {
    after: (end) => void endings.push(end),
    async [Symbol.asyncDispose]() {
      // In the order of node:test.
      for (const end of endings) await end();
    },
  };
}
