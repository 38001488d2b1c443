/** How every host name stands: what REST, gRPC and metrics tell, and what the provider reads for a lease's status. */
import type { LeaseId } from "../../market/ids.ts";
import { type Condition, condition } from "./condition.ts";
import type { Endpoints } from "./watched-cluster.ts";

export interface HostState {
  readonly host: string;
  /** Undefined where its object does not say. */
  readonly lease: LeaseId | undefined;
  readonly namespace: string;
  readonly service: string;
  readonly externalPort: number;
  /** Served: a route leads to it. Waiting: something else comes first. Refused: it is not to be. */
  readonly state: "served" | "waiting" | "refused";
  readonly health: "healthy" | "unhealthy" | "unknown";
  /** What the controller says of its route; "none" where there is no route. */
  readonly route: "accepted" | "refused" | "unknown" | "none";
  readonly endpoints: Endpoints | undefined;
  readonly conditions: readonly Condition[];
  /** When the last of all that changed, but for its endpoints. */
  readonly changedAtMs: number;
}

export type HostStates = ReturnType<typeof createHostStates>;

export function createHostStates() {
  const states = new Map<string, HostState>();
  const listeners = new Set<(host: string) => void>();

  function tell(host: string): void {
    for (const listener of listeners) listener(host);
  }

  /** What is as it was is no news. */
  function note(state: Omit<HostState, "changedAtMs">, nowMs: number): void {
    const before = states.get(state.host);
    if (before && isSame(before, state)) return;
    const isOnlyCounted = before && isSame({ ...before, endpoints: state.endpoints }, state);
    states.set(state.host, { ...state, changedAtMs: isOnlyCounted ? before.changedAtMs : nowMs });
    tell(state.host);
  }

  return {
    get: (host: string) => states.get(host),
    list: (): Iterable<HostState> => states.values(),
    get size() {
      return states.size;
    },
    note,
    /** The cluster is not seen any more: what is known of each name is what was. */
    doubt(why: string, nowMs: number): void {
      for (const state of [...states.values()]) {
        const others = state.conditions.filter(({ type }) => type !== "ClusterUnknown");
        const conditions = [...others, condition("ClusterUnknown", why)];
        note({ ...state, health: "unknown", endpoints: undefined, conditions }, nowMs);
      }
    },
    forget(host: string): void {
      if (states.delete(host)) tell(host);
    },
    /** Told of every name whose state is another one, or that is gone. */
    onChange(listener: (host: string) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function isSame(a: Omit<HostState, "changedAtMs">, b: Omit<HostState, "changedAtMs">): boolean {
  return (
    a.state === b.state &&
    a.health === b.health &&
    a.route === b.route &&
    a.namespace === b.namespace &&
    a.service === b.service &&
    a.externalPort === b.externalPort &&
    a.endpoints?.ready === b.endpoints?.ready &&
    a.endpoints?.total === b.endpoints?.total &&
    a.conditions.length === b.conditions.length &&
    a.conditions.every(
      ({ type, message }, at) => b.conditions[at]?.type === type && b.conditions[at]?.message === message,
    )
  );
}
