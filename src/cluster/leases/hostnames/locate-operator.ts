/** Where the hostname operator is. */
import type { GrpcTarget } from "../../../runtime/grpc/grpc-client.ts";
import { type OperatorLocation, reachOperator, serviceNamed } from "../../capacity/operator-connection.ts";

const sought = {
  operator: "hostname operator",
  setting: "--hostname-operator-endpoint",
  // The network's own has no gRPC.
  portName: "grpc",
  ...serviceNamed("operator-hostname"),
} as const;

export function locateHostnameOperator(location: OperatorLocation, signal: AbortSignal): Promise<GrpcTarget> {
  return reachOperator(sought, location, signal);
}
