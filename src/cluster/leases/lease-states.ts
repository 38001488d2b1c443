/** Where each lease stands, in words that an operator can read. */
export const leaseStates = [
  "waiting for manifest",
  "deploying",
  "deployed",
  "refused",
  "withdrawn",
  "closing",
  "frozen",
  "unknown",
] as const;

export interface LeaseStatus {
  readonly state: (typeof leaseStates)[number];
  readonly why?: string;
  /** Host names and ports of addresses that it wants and does not have, with the reason. */
  readonly withheld?: readonly string[];
  /** Those of them that no other lease of its tenant has. */
  readonly heldByOthers?: readonly string[];
  /** Endpoints without a leased address that no other lease holds. */
  readonly addressless?: readonly string[];
  /** Services whose pod template is not what we would make now; they keep it until their tenant or a refresh changes it. */
  readonly kept?: readonly string[];
  /** Objects in its namespace with our labels that we did not make: left alone. */
  readonly foreign?: readonly string[];
}

/** Names and texts about one lease that a status lists: enough to see what is wrong. */
export const leaseNamesListed = 20;

export function shortList(texts: readonly string[]): readonly string[] {
  const more = texts.length - leaseNamesListed;
  return more > 0 ? [...texts.slice(0, leaseNamesListed), `and ${more} more`] : texts;
}

/** Its manifest is to be applied and cannot be: the server forbids or fails, or is not ready for it. */
export function isFailing({ state, why = "" }: LeaseStatus): boolean {
  return state === "deploying" && why !== "";
}

export type LeaseStates = ReturnType<typeof createLeaseStates>;

export function createLeaseStates(onChange: () => void) {
  const states = new Map<string, LeaseStatus>();
  /** The last state before it became unknown. */
  const known = new Map<string, LeaseStatus>();
  return {
    tally: { deploy: { success: 0, fail: 0 }, teardown: { success: 0, fail: 0 } },
    note(key: string, state: LeaseStatus): void {
      const before = states.get(key);
      states.set(key, state);
      if (state.state !== "unknown") known.set(key, state);
      if (JSON.stringify(before) !== JSON.stringify(state)) onChange();
    },
    forget(key: string): void {
      known.delete(key);
      if (states.delete(key)) onChange();
    },
    get: (key: string) => states.get(key),
    all: () => states.entries(),
    /** How each stands, or stood before it became unknown. */
    lastKnown: () => known.entries(),
    get size() {
      return states.size;
    },
  };
}
