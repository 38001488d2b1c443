/** The hostname operator as a service: REST, gRPC and metrics, and the one of several copies that writes. */
import { createLeadership, type LeadershipOptions } from "../../kube/leadership.ts";
import { sleep } from "../../runtime/clock.ts";
import { operatorHostnameV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import type { GroundService, Scope } from "../../runtime/lifecycle.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { Opened, OperatorServiceGround, OperatorServiceOptions, SettleOptions } from "../ground.ts";
import { startOperatorGrpc } from "../serving/grpc.ts";
import { startOperatorRest } from "../serving/rest.ts";
import { conditionTypes, type HostState } from "./host-states.ts";
import { createHostnameOperator, type HostnameOperator, type HostnameOperatorOptions } from "./operator.ts";
import { hostnameMethods, hostnamesView, managedView } from "./serving.ts";

export interface HostnameServiceOptions extends HostnameOperatorOptions, OperatorServiceOptions {
  /** How old the answers over REST may be. */
  readonly refreshMs: number;
  /** Without it this is the only copy there is. */
  readonly leadership?: LeadershipOptions;
}

/** What it opens is the operator with its listeners, for clients in the same process. */
export function createHostnameService(
  settle: SettleOptions<HostnameServiceOptions>,
  ground: OperatorServiceGround,
): GroundService<HostnameParts> {
  const { promise: opened, resolve } = Promise.withResolvers<HostnameParts>();
  let parts: HostnameParts | undefined;
  return {
    name: "hostname",
    opened,
    async start(scope) {
      const kube = await ground.kube;
      const log = ground.log.with({ module: "hostname" });
      parts = await startHostnames(await settle(kube, scope), { ...ground, kube, log }, scope);
      resolve(parts);
    },
    detail() {
      if (!parts) return "";
      const { operator, rest, grpc, host } = parts;
      const where = `http://${host}:${rest.port}/hostnames, gRPC ${host}:${grpc.port}`;
      return operator.waitingFor ?? `${operator.states.size} host names by ${operator.backend}, ${where}`;
    },
    status: () => parts && { hostnames: parts.operator.states.size, waitingFor: parts.operator.waitingFor ?? null },
    get queues() {
      return parts?.operator.queues ?? [];
    },
    measure: (metrics) => parts && measureHostnames(metrics, parts),
  };
}

type HostnameParts = Awaited<ReturnType<typeof startHostnames>>;

/** Resolves when it listens; until the cluster has been read, its answers say what it waits for. */
export async function startHostnames(
  options: HostnameServiceOptions,
  { metrics, ...ground }: Opened<OperatorServiceGround>,
  scope: Scope,
) {
  const { host, version, refreshMs, leadership } = options;
  const { clock, log } = ground;
  const operator = createHostnameOperator(options, ground);
  operator.start(scope);
  const leader = leadership && createLeadership(leadership, ground);
  scope.task("lead", (signal) => (leader ? leader.run(signal, operator.lead) : operator.lead(signal)));
  const leading = () => leader?.leading ?? true;
  const waitingFor = () => operator.waitingFor;
  const { states, backend } = operator;
  const grpc = await startOperatorGrpc({
    ...{ what: "the hostname operator over gRPC", host, port: options.grpcPort, clock, log },
    methods: hostnameMethods({ states, waitingFor, leading, backend }),
    file: operatorHostnameV1ServiceFile,
    serving: () => waitingFor() === undefined,
    changed: (signal) => sleep(clock, options.retryDelayMs, signal),
  });
  scope.onStop(grpc.close);
  const rest = await startOperatorRest({
    ...{ what: "the hostname operator over REST", host, port: options.restPort, clock, log },
    ...{ version, metrics, refreshMs },
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
