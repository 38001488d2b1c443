/** What the settings say of the network of leases. */
import { admittedControllers } from "../cluster/network/admitted-controllers.ts";
import type { NetworkSettings } from "../cluster/network/watched-network.ts";
import type { Config } from "../config/table.ts";

export function networkSettings(values: Config): NetworkSettings {
  const { ingressMode, gatewayNamespace } = values;
  const gateway = ingressMode === "gateway-api" ? gatewayNamespace : undefined;
  return {
    enabled: values.deploymentNetworkPoliciesEnabled,
    admitted: admittedControllers(values.deploymentIngressControllers, gateway),
    closedRanges: values.deploymentClosedRanges,
  };
}
