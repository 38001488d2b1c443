/** The hostname operator with all that tells of it: REST and gRPC; and the one of several copies that writes. */
import { createLeadership, type LeadershipOptions } from "../../kube/leadership.ts";
import { sleep } from "../../runtime/clock.ts";
import { operatorHostnameV1ServiceFile } from "../../runtime/grpc/akash-proto.ts";
import type { GroundService, Scope } from "../../runtime/lifecycle.ts";
import type { Opened, OperatorServiceGround, OperatorServiceOptions, SettleOptions } from "../ground.ts";
import { startOperatorGrpc } from "../serving/grpc.ts";
import { startOperatorRest } from "../serving/rest.ts";
import { measureHostnames } from "./hostname-metrics.ts";
import { createHostnameOperator, type HostnameOperatorOptions } from "./operator.ts";
import { hostnameMethods } from "./serving/grpc-methods.ts";
import { hostnamesView, managedView } from "./serving/views.ts";

export interface HostnameServiceOptions extends HostnameOperatorOptions, OperatorServiceOptions {
  /** How old the answers over REST may be. */
  readonly refreshMs: number;
  /** Without it this is the only copy there is. */
  readonly leadership?: LeadershipOptions;
}

/** What it opens is the operator with its listeners, for whoever asks it in the same process. */
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

/** Resolves when it listens; until the cluster has been read, it says what it waits for. */
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
