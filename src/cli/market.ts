/** What `run` sells, of which cluster, at which prices: from the settings. */
import type { BalanceOptions } from "../balance/balance-status.ts";
import type { BidEngineOptions } from "../bidengine/decider.ts";
import { createPolicySource } from "../bidengine/policies/policy-source.ts";
import { createPricing, type PriceSettingsSource } from "../bidengine/pricing/create-pricing.ts";
import { createGet, createIpOperator } from "../cluster/capacity/addresses/ip-operator.ts";
import { createGrpcFeed, locateInventory } from "../cluster/capacity/inventory/grpc-feed.ts";
import { createHostnameFeed, locateHostnameOperator } from "../cluster/leases/declarations/hostname-feed.ts";
import type { LeaseOptions } from "../cluster/leases/lease-options.ts";
import { admittedControllers, type NetworkSettings } from "../cluster/leases/watched-network.ts";
import type { Config } from "../config/table.ts";
import { createHttpKube } from "../kube/http/http-kube.ts";
import type { Kube } from "../kube/kube.ts";
import { createKubeService } from "../kube/kube-service.ts";
import type { Coin } from "../market/coin.ts";
import { decimalOf, mulDecimals, toInteger } from "../market/decimal.ts";
import type { Overcommit } from "../market/fit.ts";
import type { MarketOptions, ServiceDeps } from "../provider/provider.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import { invariant } from "../runtime/invariant.ts";
import type { ResourceService } from "../runtime/lifecycle.ts";
import { withdrawalGas } from "../runtime/limits.ts";
import { blockedHostsOf } from "./settings.ts";

/** Gas of one bid, with a margin: what the wallet must have for its fee. */
const bidGas = 400_000n;

interface MarketDeps extends RuntimeDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `prices` are the settings as they change. Without a kubeconfig, the service account of the pod we run in, or kubectl's own file. */
export function marketOf(
  values: Config,
  prices: PriceSettingsSource,
  kubeconfig: string | undefined,
  { environment, ...deps }: MarketDeps,
): { readonly kube: ResourceService<Kube>; readonly market: MarketOptions } {
  const connect = () => createHttpKube({ fieldManager: "akash-provider", kubeconfig, environment }, deps);
  const inCluster = kubeconfig === undefined && environment["KUBERNETES_SERVICE_HOST"] !== undefined;
  return { kube: createKubeService(connect), market: marketOptions(values, prices, inCluster) };
}

function marketOptions(values: Config, prices: PriceSettingsSource, inCluster: boolean): MarketOptions {
  const { policyFile } = values;
  const at = (endpoint: Config["ipOperatorEndpoint"], { kube }: ServiceDeps) => {
    invariant(kube, "what is sold is in a cluster");
    return { endpoint, inCluster, clusterDomain: values.clusterDomain, kube };
  };
  return {
    cluster: { overcommit: overcommitOf(values), leases: leasesOf(values) },
    // Whoever gives every service a name can do without the tenant's.
    manifest: { timeoutMs: values.manifestTimeoutMs, requireHost: !values.deploymentIngressStaticHosts },
    inventory(deps) {
      const location = at(values.inventoryOperatorEndpoint, deps);
      return createGrpcFeed({ ...deps, locate: (signal) => locateInventory(location, signal) });
    },
    hostnameFeed(deps) {
      const location = at(values.hostnameOperatorEndpoint, deps);
      const locate = (signal: AbortSignal) => locateHostnameOperator(location, signal);
      return createHostnameFeed({ ...deps, locate, log: deps.log.with({ module: "hostnames" }) });
    },
    ...(values.ipOperator && {
      ipOperator: (deps) => createIpOperator(createGet(at(values.ipOperatorEndpoint, deps), deps.clock)),
    }),
    bidengine: bidEngineOf(values),
    pricing: (deps) => createPricing(prices, deps),
    policies: (deps) => createPolicySource(policyFile, deps),
  };
}

export function overcommitOf(values: Config): Overcommit {
  const { overcommitCpuPercent: cpuPercent, overcommitMemoryPercent: memoryPercent } = values;
  const { overcommitStoragePercent: storagePercent, defaultEphemeralStorage: defaultDiskBytes } = values;
  return { cpuPercent, memoryPercent, storagePercent, defaultDiskBytes };
}

export function leasesOf(values: Config): LeaseOptions {
  const { deploymentIngressDomain: ingressDomain } = values;
  const staticHostDomain = values.deploymentIngressStaticHosts ? ingressDomain : undefined;
  const { deploymentRuntimeClass } = values;
  return {
    manifestNamespace: values.k8sManifestNamespace,
    clusterPublicHostname: values.clusterPublicHostname ?? "",
    pullSecret: values.dockerImagePullSecretsName,
    runtimeClass: deploymentRuntimeClass === "none" ? undefined : deploymentRuntimeClass,
    hosts: {
      ...{ blockedHosts: blockedHostsOf(values), ingressDomain, staticHostDomain },
      requiresProof: values.hostnameProof,
    },
    addressSharing: values.ipSharing,
    network: networkSettings(values),
    monitor: {
      maxRetries: values.monitorMaxRetries,
      retryPeriodMs: values.monitorRetryPeriodMs,
      retryJitterMs: values.monitorRetryPeriodJitterMs,
    },
  };
}

export function bidEngineOf(values: Config): BidEngineOptions {
  const { attributes, bidDeposit, bidTimeoutMs, reclamationWindowMs, minimumBalance } = values;
  const fee = feeOf(values, bidGas);
  const missingSettings = missingSettingsOf(values);
  return { attributes, bidDeposit, minimumBalance, bidTimeoutMs, reclamationWindowMs, fee, missingSettings };
}

/** HTTP services need a host name, which a tenant may not bring; ports and our certificate need the public name. */
function missingSettingsOf({ deploymentIngressStaticHosts, clusterPublicHostname }: Config): string[] {
  return [
    ...(deploymentIngressStaticHosts ? [] : ["--deployment-ingress-static-hosts (with --deployment-ingress-domain)"]),
    ...(clusterPublicHostname ? [] : ["--cluster-public-hostname"]),
  ];
}

/** About what sending one message costs; nothing where somebody else pays. */
function feeOf({ feeGranter, gasPrices: [price], fees: [fee] = [] }: Config, gas: bigint): Coin | undefined {
  if (feeGranter !== undefined) return undefined;
  if (fee) return fee;
  return price && { denom: price.denom, amount: toInteger(mulDecimals(price.amount, decimalOf(gas)), "up") };
}

/** How `run` looks after its money. */
export function balanceOf(values: Config): BalanceOptions {
  return {
    minimumBalance: values.minimumBalance,
    warnBalance: values.warnBalance,
    intervalMs: values.leaseFundsMonitorIntervalMs,
    periodMs: values.withdrawalPeriodMs,
    threshold: values.withdrawalThreshold,
    fee: feeOf(values, withdrawalGas),
  };
}

/** What the settings say of the network of leases. */
export function networkSettings(values: Config): NetworkSettings {
  const { ingressMode, gatewayNamespace } = values;
  const gateway = ingressMode === "gateway-api" ? gatewayNamespace : undefined;
  return {
    enabled: values.deploymentNetworkPoliciesEnabled,
    admitted: admittedControllers(values.deploymentIngressControllers, gateway),
    closedRanges: values.deploymentClosedRanges,
  };
}
