/** What is measured of leased addresses by the operator that gives them. */
import { countByType } from "../../runtime/condition.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import type { GrpcListener } from "../serving/grpc.ts";
import type { IpOperator } from "./operator.ts";
import { toldPorts } from "./serving/told-state.ts";

const name = "akash_provider_ip";

export function measureIp(metrics: Metrics, operator: IpOperator, grpc: Pick<GrpcListener, "streams">): void {
  const { view } = operator;
  metrics.readEach("gauge", name, [
    ["addresses", "Addresses of the pool or range that is leased", () => Number(operator.usage.total)],
    ["addresses_in_use", "Addresses of it in use", () => Number(operator.usage.inUse)],
    ["addresses_free", "Addresses of it that are free", () => Number(operator.usage.free)],
    ["ports", "Ports that leases ask for on addresses of their own", () => toldPorts(operator).length],
    [
      "ports_pending",
      "Ports without an address yet",
      () => toldPorts(operator).filter(({ address }) => address === undefined).length,
    ],
    ["ignored_leases", "Leases with which something failed again and again", () => operator.ignored.size],
    ["leading", "1 in the copy that writes", () => (operator.leading ? 1 : 0)],
    ["streams", "gRPC streams that receive each change", () => grpc.streams],
    [
      "age_seconds",
      "Time since the API server was last heard of",
      () => Math.max(view.declared.ageMs, view.balancers.ageMs) / 1_000,
    ],
  ]);
  const poolsHelp = "Addresses of each pool of MetalLB's, and those in use";
  const pools = {
    name: `${name}_pool_addresses`,
    help: poolsHelp,
    labels: ["pool", "amount"],
    clusterNames: true,
  } as const;
  metrics.read({ ...pools, kind: "gauge" }, () =>
    operator.usage.pools.flatMap(({ name: pool, total, inUse }) => [
      [{ pool, amount: "total" }, Number(total)] as const,
      [{ pool, amount: "in_use" }, Number(inUse)] as const,
    ]),
  );
  const conditions = { name: `${name}_conditions`, help: "Conditions by type", labels: ["type"] } as const;
  metrics.read({ ...conditions, kind: "gauge" }, () => countByType(operator.conditions));
}
