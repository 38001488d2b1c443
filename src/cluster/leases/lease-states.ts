/** Where each lease stands, in words that an operator can read. What is not told anew is forgotten with the lease. */
export interface LeaseState {
  readonly state:
    | "waiting for manifest"
    | "deploying"
    | "deployed"
    | "withdrawn"
    | "refused"
    | "closing"
    | "frozen"
    | "unknown";
  /** What it waits for, or what is wrong. */
  readonly why?: string;
  /** Objects with our labels that we did not make: left alone. */
  readonly foreign?: readonly string[];
}

export type LeaseStates = ReturnType<typeof createLeaseStates>;

export function createLeaseStates(onChange: () => void) {
  const states = new Map<string, LeaseState>();
  return {
    note(key: string, state: LeaseState): void {
      const before = states.get(key);
      states.set(key, state);
      if (JSON.stringify(before) !== JSON.stringify(state)) onChange();
    },
    forget(key: string): void {
      if (states.delete(key)) onChange();
    },
    get: (key: string) => states.get(key),
    all: () => states.entries(),
    get size() {
      return states.size;
    },
  };
}
