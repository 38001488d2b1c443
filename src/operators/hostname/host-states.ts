/** The status of every host name: REST, gRPC and metrics show it, and the provider reads it for the status of a lease. */
import { isDeepStrictEqual } from "node:util";
import type { LeaseId } from "../../market/ids.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { reasonOf } from "../../runtime/errors.ts";

export const hostConditionTypes = [
  // Rejected: the name gets no route.
  "HostnameInvalid",
  "HostnameBlocked",
  "HostnameInUse",
  "OwnerChanged",
  "ProofMissing",
  // Not served, or not known to be.
  "ClusterUnknown",
  "ManifestMissing",
  "ServiceMissing",
  "KindMissing",
  "ClassMissing",
  "RouteMissing",
  "RouteFailed",
  "RouteNotAccepted",
  "RouteContested",
  "EndpointsMissing",
  "TransferPending",
  // Served, but not exactly as requested.
  "OptionNotHonoured",
  "TransferGap",
  "OldRouteKept",
  "ProbeFailed",
] as const;

/** Of a message: tenants and controllers write parts of some, and all of them are streamed and kept. */
export const conditionChars = 500;

export function hostCondition(type: (typeof hostConditionTypes)[number], message: string): Condition {
  return condition(type, message.length > conditionChars ? `${message.slice(0, conditionChars)}…` : message);
}

export function failureOf(thrown: unknown): Condition {
  return hostCondition("RouteFailed", reasonOf(thrown));
}

export interface Endpoints {
  readonly ready: number;
  readonly total: number;
}

export interface HostState {
  readonly host: string;
  readonly lease: LeaseId | undefined;
  readonly namespace: string;
  readonly service: string;
  readonly externalPort: number;
  /** Served: it has a route. Waiting: something else has to come first. Rejected: it is rejected and gets none. */
  readonly state: "served" | "waiting" | "refused";
  readonly health: "healthy" | "unhealthy" | "unknown";
  /** What the controller reports of its route; "none" without a route. */
  readonly route: "accepted" | "refused" | "unknown" | "none";
  readonly endpoints: Endpoints | undefined;
  readonly conditions: readonly Condition[];
  /** The last moment without a route, in a transfer that could not be made otherwise. */
  readonly gap?: { readonly gapMs: number; readonly endedAtMs: number } | undefined;
  /** When anything but the number of endpoints last changed. */
  readonly changedAtMs: number;
}

export type NewHostState = Omit<HostState, "changedAtMs">;

export type HostStates = ReturnType<typeof createHostStates>;

export function createHostStates() {
  const states = new Map<string, HostState>();
  const listeners = new Set<(host: string) => void>();

  function publish(host: string): void {
    for (const listener of listeners) listener(host);
  }

  function record(state: NewHostState, nowMs: number): void {
    const before = states.get(state.host);
    if (before && isSame(before, state)) return;
    const isOnlyCounted = before && isSame({ ...before, endpoints: state.endpoints }, state);
    states.set(state.host, { ...state, changedAtMs: isOnlyCounted ? before.changedAtMs : nowMs });
    publish(state.host);
  }

  return {
    get: (host: string) => states.get(host),
    list: (): Iterable<HostState> => states.values(),
    get size() {
      return states.size;
    },
    record,
    /** The cluster cannot be read any more: each state may be out of date. */
    markUnknown(reason: string, nowMs: number): void {
      for (const state of [...states.values()]) {
        const others = state.conditions.filter(({ type }) => type !== "ClusterUnknown");
        const conditions = [...others, condition("ClusterUnknown", reason)];
        record({ ...state, health: "unknown", endpoints: undefined, conditions }, nowMs);
      }
    },
    forget(host: string): void {
      if (states.delete(host)) publish(host);
    },
    onChange(listener: (host: string) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function isSame(a: NewHostState, b: NewHostState): boolean {
  return isDeepStrictEqual({ ...a, changedAtMs: 0 }, { ...b, changedAtMs: 0 });
}
