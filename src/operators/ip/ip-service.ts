/** The IP operator as a service: its listeners, status and metrics. */
import { Leadership, type LeadershipOptions } from "../../kube/leadership.ts";
import { countByType } from "../../runtime/condition.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import {
  createOperatorService,
  type Opened,
  type OperatorServiceDeps,
  type OperatorServiceOptions,
  type SettleOptions,
} from "../operator-service.ts";
import type { GrpcListener } from "../serving/grpc.ts";
import { type IpOperatorOptions, type RunningIpOperator, startIpOperator } from "./operator.ts";
import { portCounts, startIpGrpc, startIpRest } from "./serving.ts";

export interface IpServiceOptions extends IpOperatorOptions, OperatorServiceOptions {
  readonly refreshMs: number;
  readonly leadership: LeadershipOptions;
}

export function createIpService(settle: SettleOptions<IpServiceOptions>, deps: OperatorServiceDeps) {
  return createOperatorService(
    {
      name: "ip",
      start: startIp,
      opens: (parts) => parts,
      page: "/usage",
      waitingFor: ({ operator, leadership }) => operator.waitingFor ?? leadership.waitingFor,
      status(parts) {
        if (!parts) return undefined;
        const { usage, conditions, leading } = parts.operator;
        return { usage, conditions, leading };
      },
      measure: (metrics, { operator, grpc }) => measureIp(metrics, operator, grpc),
    },
    settle,
    deps,
  );
}

async function startIp(options: IpServiceOptions, { metrics, ...deps }: Opened<OperatorServiceDeps>, scope: Scope) {
  const { host, version, refreshMs } = options;
  const { clock, log } = deps;
  const leadership = new Leadership(options.leadership, deps);
  const operator = startIpOperator(options, { ...deps, leadership }, scope);
  const listen = { host, clock, log };
  const restOptions = { ...listen, port: options.restPort, version, refreshMs, metrics };
  const rest = await startIpRest(operator, options.provider, restOptions);
  scope.onStop(() => rest.close());
  const grpc = await startIpGrpc(operator, { ...listen, port: options.grpcPort });
  scope.onStop(grpc.close);
  log.info("IP operator listening", { rest: `${host}:${rest.port}`, grpc: `${host}:${grpc.port}` });
  return { host, operator, leadership, rest, grpc };
}

const prefix = "akash_provider_ip";

export function measureIp(metrics: Metrics, operator: RunningIpOperator, grpc: Pick<GrpcListener, "streams">): void {
  const ageMs = () => Math.max(operator.view.declared.ageMs, operator.view.balancers.ageMs);
  metrics.readEach("gauge", prefix, [
    ["addresses", "Addresses of the pool or range that is leased", () => Number(operator.usage.total)],
    ["addresses_in_use", "Addresses of it in use", () => Number(operator.usage.inUse)],
    ["addresses_free", "Addresses of it that are free", () => Number(operator.usage.free)],
    ["ports", "Ports that leases request on addresses of their own", () => portCounts(operator).ports],
    ["ports_pending", "Ports without an address yet", () => portCounts(operator).pending],
    ["ignored_leases", "Leases with repeated failures", () => operator.ignored.size],
    ["leading", "1 in the copy that writes", () => (operator.leading ? 1 : 0)],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    ["age_seconds", "Time since the API server was last heard of", () => ageMs() / 1_000],
  ]);
  const gauge = (name: string, help: string) => ({ kind: "gauge", name: `${prefix}_${name}`, help }) as const;
  const pools = gauge("pool_addresses", "Addresses of each pool of MetalLB's, and those in use");
  metrics.read({ ...pools, labels: ["pool", "amount"], clusterNames: true }, () =>
    operator.usage.pools.flatMap(({ name: pool, total, inUse }) => [
      [{ pool, amount: "total" }, Number(total)] as const,
      [{ pool, amount: "in_use" }, Number(inUse)] as const,
    ]),
  );
  metrics.read({ ...gauge("conditions", "Conditions by type"), labels: ["type"] }, () =>
    countByType(operator.conditions),
  );
}
