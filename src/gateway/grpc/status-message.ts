/** akash.provider.v1.Status, ready to be sent. */
import { providerV1Status } from "../../runtime/grpc/akash-proto.ts";

interface StatusTold {
  readonly leases: number;
  readonly orders: number;
  readonly deployments: number;
  readonly publicHost: string | undefined;
}

export function statusMessage({ leases, orders, deployments, publicHost }: StatusTold): Uint8Array {
  return providerV1Status.encode({
    errors: [],
    cluster: { leases: { active: leases }, inventory: undefined },
    bidEngine: { orders },
    manifest: { deployments },
    publicHostnames: [publicHost ?? ""],
    timestamp: undefined,
    reclamationWindow: undefined,
  });
}
