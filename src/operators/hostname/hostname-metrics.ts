/** What is measured of host names: how many there are in which state, and the operator's own work. */
import type { Metrics } from "../../runtime/metrics.ts";
import { conditionTypes } from "./condition.ts";
import type { HostState } from "./host-states.ts";
import type { HostnameOperator } from "./operator.ts";

interface MeasuredHostnames {
  readonly operator: Pick<HostnameOperator, "states" | "ageMs" | "counts" | "ignored">;
  readonly leading: () => boolean;
  readonly grpc: { readonly streams: number };
}

const name = "akash_provider_hostname";
const states = ["served", "waiting", "refused"] as const;
const healths = ["healthy", "unhealthy", "unknown"] as const;

export function measureHostnames(metrics: Metrics, { operator, leading, grpc }: MeasuredHostnames): void {
  metrics.readEach("gauge", name, [
    ["age_seconds", "Time since the API server was last heard of", () => operator.ageMs / 1_000],
    ["leading", "1 while this copy writes", () => (leading() ? 1 : 0)],
    ["ignored_leases", "Leases with host names that wait for something", () => operator.ignored.size],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    ["longest_gap_seconds", "Longest time without a route in a transfer", () => operator.counts.longestGapMs / 1_000],
  ]);
  metrics.readEach("counter", name, [
    ["written", "Objects written", () => operator.counts.written],
    ["removed", "Objects removed", () => operator.counts.removed],
    ["transfers", "Host names moved from one lease to another", () => operator.counts.transfers],
    ["transfer_gaps", "Of these, moved with a moment without a route", () => operator.counts.gaps],
  ]);
  const count = (is: (state: HostState) => boolean) => [...operator.states.list()].filter(is).length;
  const gauge = { kind: "gauge" } as const;
  metrics.read({ ...gauge, name: `${name}_hostnames`, help: "Host names by state", labels: ["state"] }, () =>
    states.map((state) => [{ state }, count((each) => each.state === state)] as const),
  );
  metrics.read({ ...gauge, name: `${name}_health`, help: "Host names by health", labels: ["health"] }, () =>
    healths.map((health) => [{ health }, count((each) => each.health === health)] as const),
  );
  const help = "Host names with a condition, by its type";
  metrics.read({ ...gauge, name: `${name}_conditions`, help, labels: ["type"] }, () =>
    conditionTypes.map(
      (type) => [{ type }, count(({ conditions }) => conditions.some((each) => each.type === type))] as const,
    ),
  );
}
