/** What is under way over the wire, so that closing can end all of it: requests, answers that still come, commands. */

export interface OpenEnds {
  readonly closed: boolean;
  /** Calls `end` when all is closed, at once if it is already. Returns the way to let go of it before. */
  add(end: () => void): () => void;
  /** Ends everything, and whatever begins later. */
  close(): void;
}

export function createOpenEnds(): OpenEnds {
  const ends = new Set<() => void>();
  let closed = false;
  return {
    get closed() {
      return closed;
    },
    add(end) {
      if (closed) end();
      else ends.add(end);
      return () => void ends.delete(end);
    },
    close() {
      closed = true;
      for (const end of ends) end();
    },
  };
}

export function closedError(): Error {
  return new Error("the connection is closed");
}
