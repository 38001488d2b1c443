/** akash.provider.v1.Status, ready to be sent. */
import { int32, messageOf, optional, repeated, text } from "../../runtime/protobuf.ts";

const statusCodec = messageOf({
  cluster: optional(2, messageOf({ leases: optional(1, messageOf({ active: int32(1) })) })),
  bidEngine: optional(3, messageOf({ orders: int32(1) })),
  manifest: optional(4, messageOf({ deployments: int32(1) })),
  publicHostnames: repeated(5, text),
});

interface StatusTold {
  readonly leases: number;
  readonly orders: number;
  readonly deployments: number;
  readonly publicHost: string | undefined;
}

export function statusMessage({ leases, orders, deployments, publicHost }: StatusTold): Uint8Array {
  return statusCodec.encode({
    cluster: { leases: { active: leases } },
    bidEngine: { orders },
    manifest: { deployments },
    publicHostnames: [publicHost ?? ""],
  });
}
