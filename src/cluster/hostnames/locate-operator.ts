/** Where the hostname operator is. */
import type { ServiceAddress } from "../../kube/service-address.ts";
import { locateOperator, type OperatorLocation, serviceNamed } from "../operator-location.ts";

const sought = {
  operator: "hostname operator",
  setting: "--hostname-operator-endpoint",
  // The network's own has no gRPC.
  portName: "grpc",
  ...serviceNamed("operator-hostname"),
} as const;

export function locateHostnameOperator(location: OperatorLocation, signal: AbortSignal): Promise<ServiceAddress> {
  return locateOperator(sought, location, signal);
}
