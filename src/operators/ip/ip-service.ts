/** The IP operator as a service: its loops, its listeners, and what it tells of itself. */
import { createLeadership, type LeadershipOptions } from "../../kube/leadership.ts";
import type { GroundService, Scope } from "../../runtime/lifecycle.ts";
import type { Opened, OperatorServiceGround, OperatorServiceOptions, SettleOptions } from "../ground.ts";
import { measureIp } from "./ip-metrics.ts";
import { type IpOperatorOptions, startIpOperator } from "./operator.ts";
import { startGrpc } from "./serving/grpc.ts";
import { startRest } from "./serving/rest.ts";

export interface IpServiceOptions extends IpOperatorOptions, OperatorServiceOptions {
  /** How old what it tells over REST may be. */
  readonly refreshMs: number;
  readonly leadership: LeadershipOptions;
}

/** What it opens is the operator with its listeners, for whoever asks it in the same process. */
export function createIpService(
  settle: SettleOptions<IpServiceOptions>,
  ground: OperatorServiceGround,
): GroundService<IpParts> {
  const { promise: opened, resolve } = Promise.withResolvers<IpParts>();
  let parts: IpParts | undefined;
  return {
    name: "ip",
    opened,
    async start(scope) {
      const kube = await ground.kube;
      const log = ground.log.with({ module: "ip" });
      parts = await startIp(await settle(kube, scope), { ...ground, kube, log }, scope);
      resolve(parts);
    },
    detail() {
      if (!parts) return "";
      const { operator, leadership, host, rest, grpc } = parts;
      const waiting = operator.waitingFor ?? leadership.waitingFor;
      return waiting ?? `http://${host}:${rest.port}/usage, gRPC ${host}:${grpc.port}`;
    },
    status() {
      if (!parts) return undefined;
      const { usage, conditions, leading } = parts.operator;
      return { usage, conditions, leading };
    },
    get queues() {
      return parts ? [parts.operator.queue, parts.operator.events.queue] : [];
    },
    measure: (metrics) => parts && measureIp(metrics, parts.operator, parts.grpc),
  };
}

type IpParts = Awaited<ReturnType<typeof startIp>>;

/** Resolves when it listens. */
async function startIp(options: IpServiceOptions, ground: Opened<OperatorServiceGround>, scope: Scope) {
  const { kube, metrics, clock, random, log } = ground;
  const leadership = createLeadership(options.leadership, { kube, clock, log });
  const operator = startIpOperator(options, { kube, clock, random, log, leadership }, scope);
  const { host, version, refreshMs } = options;
  const rest = await startRest(operator, options.provider, {
    ...{ host, port: options.restPort, version, refreshMs, metrics, clock, log },
  });
  scope.onStop(() => rest.close());
  const grpc = await startGrpc(operator, { host, port: options.grpcPort, clock, log });
  scope.onStop(grpc.close);
  log.info("IP operator listening", { rest: `${host}:${rest.port}`, grpc: `${host}:${grpc.port}` });
  return { host, operator, leadership, rest, grpc };
}
