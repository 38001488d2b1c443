/** What the IP operator answers over HTTP: to the network's provider as the network's operator does, and to people. */
import type { Listener } from "../../../runtime/listener.ts";
import { type OperatorRestOptions, startOperatorRest } from "../../serving/rest.ts";
import type { IpOperator } from "../operator.ts";
import { leaseStatus, networkState } from "./told-state.ts";

type RestOptions = Pick<OperatorRestOptions, "host" | "port" | "version" | "metrics" | "refreshMs" | "clock" | "log">;

export function startRest(operator: IpOperator, provider: string, options: RestOptions): Promise<Listener> {
  return startOperatorRest({
    ...options,
    what: "the IP operator over REST",
    routes: {
      "/usage": () => networkUsage(operator, provider),
      "/state": () => networkState(operator),
      "/ignored-leases": () => operator.ignored.view(),
      "/conditions": () => operator.conditions,
    },
    // Whoever bids by it must not promise an address that is gone.
    fresh: ["/usage"],
    asked: (path) => leaseStatus(operator, provider, path),
    // Nor one that was free when the cluster was last seen.
    waitingFor: (path) => operator.waitingFor ?? (path === "/usage" ? operator.view.trouble : undefined),
  });
}

/** What the network calls available is all that there are; what is free it has to reckon. */
function networkUsage({ usage, shortage }: Pick<IpOperator, "usage" | "shortage">, provider: string): object {
  const { total, inUse, free, pools } = usage;
  const byPool = pools.map((pool) => [
    pool.name,
    { Available: pool.total, InUse: pool.inUse, Free: pool.total - pool.inUse },
  ]);
  const why = shortage && { reason: shortage.type, message: shortage.error.message };
  const told = { Pools: Object.fromEntries(byPool), Provider: provider, ...(why && { Shortage: why }) };
  return { Available: total, InUse: inUse, Free: free, ...told };
}
