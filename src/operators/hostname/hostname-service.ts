/** The hostname operator as a service: listeners, status and metrics, and the lead among its copies. */
import { Leadership, type LeadershipOptions } from "../../kube/leadership.ts";
import { sleep } from "../../runtime/clock.ts";
import { operatorHostnameV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import {
  createOperatorService,
  type Opened,
  type OperatorServiceDeps,
  type OperatorServiceOptions,
  type SettleOptions,
} from "../operator-service.ts";
import { type GrpcListener, startOperatorGrpc } from "../serving/grpc.ts";
import { startOperatorRest } from "../serving/rest.ts";
import { type HostState, hostConditionTypes } from "./host-states.ts";
import { createHostnameOperator, type HostnameOperator, type HostnameOperatorOptions } from "./operator.ts";
import { hostnameMethods, hostnamesView, managedView } from "./serving.ts";

export interface HostnameServiceOptions extends HostnameOperatorOptions, OperatorServiceOptions {
  readonly refreshMs: number;
  /** Without it this is the only copy there is. */
  readonly leadership?: LeadershipOptions;
}

export function createHostnameService(settle: SettleOptions<HostnameServiceOptions>, deps: OperatorServiceDeps) {
  return createOperatorService(
    {
      name: "hostname",
      start: startHostnames,
      opens: (parts) => parts,
      page: "/hostnames",
      summary: ({ operator }) => `${operator.states.size} host names by ${operator.backend}, `,
      status: (parts) =>
        parts && { hostnames: parts.operator.states.size, waitingFor: parts.operator.waitingFor ?? null },
      measure: (metrics, { operator, leading, grpc }) => measureHostnameOperator(metrics, operator, leading, grpc),
    },
    settle,
    deps,
  );
}

export async function startHostnames(
  options: HostnameServiceOptions,
  { metrics, ...deps }: Opened<OperatorServiceDeps>,
  scope: Scope,
) {
  const { host, version, refreshMs, leadership } = options;
  const { clock, log } = deps;
  const operator = createHostnameOperator(options, deps);
  operator.start(scope);
  const leader = leadership && new Leadership(leadership, deps);
  scope.task("lead", (signal) => (leader ? leader.run(signal, operator.lead) : operator.lead(signal)));
  const leading = () => leader?.leading ?? true;
  const waitingFor = () => operator.waitingFor;
  const { states, backend } = operator;
  const listen = { host, clock, log };
  const grpc = await startOperatorGrpc({
    ...{ ...listen, what: "the hostname operator over gRPC", port: options.grpcPort },
    methods: hostnameMethods({ states, waitingFor, leading, backend }),
    file: operatorHostnameV1ServiceFile,
    serving: () => waitingFor() === undefined,
    changed: (signal) => sleep(clock, options.retryDelayMs, signal),
  });
  scope.onStop(grpc.close);
  const rest = await startOperatorRest({
    ...{ ...listen, what: "the hostname operator over REST", port: options.restPort, version, metrics, refreshMs },
    routes: {
      "/managed-hostnames": () => managedView(states),
      "/ignore-list": () => operator.ignored.view(),
      "/hostnames": () => hostnamesView(states),
    },
    // The Go provider's setting names this port, ours the other one: both settings lead to gRPC.
    http2: grpc.accept,
    waitingFor,
  });
  scope.onStop(() => rest.close());
  log.info("hostname API listening", { rest: `${host}:${rest.port}`, grpc: `${host}:${grpc.port}` });
  return { host, operator, leading, rest, grpc };
}

const prefix = "akash_provider_hostname";

export function measureHostnameOperator(
  metrics: Metrics,
  operator: Pick<HostnameOperator, "states" | "ageMs" | "counts" | "ignored">,
  leading: () => boolean,
  grpc: Pick<GrpcListener, "streams">,
): void {
  const { states, counts } = operator;
  metrics.readEach("gauge", prefix, [
    ["age_seconds", "Time since the API server was last heard of", () => operator.ageMs / 1_000],
    ["leading", "1 while this copy writes", () => (leading() ? 1 : 0)],
    ["ignored_leases", "Leases with repeated failures of host names", () => operator.ignored.size],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    ["longest_gap_seconds", "Longest time without a route in a transfer", () => counts.longestGapMs / 1_000],
  ]);
  metrics.readEach("counter", prefix, [
    ["written", "Objects written", () => counts.written],
    ["removed", "Objects removed", () => counts.removed],
    ["transfers", "Host names moved from one lease to another", () => counts.transfers],
    ["transfer_gaps", "Of these, moved with a moment without a route", () => counts.gaps],
  ]);
  function countEach<Label extends string>(
    name: string,
    label: Label,
    values: readonly string[],
    help: string,
    valuesOf: (state: HostState) => readonly string[],
  ): void {
    metrics.read<Label>({ kind: "gauge", name: `${prefix}_${name}`, help, labels: [label] }, () => {
      const seen = [...states.list()].map(valuesOf);
      const count = (value: string) => seen.filter((each) => each.includes(value)).length;
      return values.map((value) => [{ [label]: value } as Record<Label, string>, count(value)] as const);
    });
  }
  countEach("hostnames", "state", ["served", "waiting", "refused"], "Host names by state", ({ state }) => [state]);
  const healths = ["healthy", "unhealthy", "unknown"];
  countEach("health", "health", healths, "Host names by health", ({ health }) => [health]);
  countEach("conditions", "type", hostConditionTypes, "Host names with a condition, by its type", ({ conditions }) =>
    conditions.map(({ type }) => type),
  );
}
