/**
 * The settings that some program reads by now. Commands are given these and no others (src/cli/settings.ts), so
 * whoever reads one more lists it here, and the mark "no effect yet" of `config print`, --help and the page is gone.
 */
import type { Config, SettingName } from "./table.ts";

export const usedSettings = [
  ...["home", "dataDir", "providerConfig", "metricsListener", "notifyUrl", "shutdownTimeoutMs", "marketRetentionMs"],
  ...["logLevel", "logFormat", "logColor", "logTimestamp", "trace"],
  ...["bus", "redisUrl", "redisSentinels", "redisSentinelMaster", "redisUsername", "redisPassword"],
  ...["nodes", "nodeCertFiles", "nodeKeyFiles", "nodeCaFiles", "chainId"],
  ...["from", "keyringBackend", "keyringDir", "keyFile", "keyPassphrase", "keyCoinType", "keyAccount", "keyIndex"],
  ...["gas", "gasAdjustment", "gasPrices", "fees", "feeGranter", "note"],
  ...["hostUri", "attributes", "info"],
  ...["kubeconfig", "restAddress", "restPort", "grpcPort", "podName", "podNamespace", "apiTimeoutMs"],
  ...["inventoryConfig", "providerConfigsUrl", "registryQueryPeriodMs"],
  ...[
    "clusterK8s",
    "k8sManifestNamespace",
    "overcommitCpuPercent",
    "overcommitMemoryPercent",
    "overcommitStoragePercent",
  ],
  ...["deploymentNetworkPoliciesEnabled", "deploymentIngressControllers", "deploymentClosedRanges"],
  ...["ingressMode", "gatewayName", "gatewayNamespace", "gatewayProvider", "proxyBufferSize", "clusterDomain"],
  ...["ingressProvider", "ingressClass", "ingressTlsSecret", "ingressTlsIssuer", "hostnameProof", "hostnameProbe"],
  ...["migrationsEnabled", "pruneIntervalMs", "webRefreshIntervalMs", "retryDelayMs"],
  ...["ignoreListEntryLimit", "ignoreListAgeLimitMs", "eventFailureLimit"],
  ...["clusterPublicHostname", "dockerImagePullSecretsName", "deploymentRuntimeClass", "manifestTimeoutMs"],
  ...["monitorMaxRetries", "monitorRetryPeriodMs", "monitorRetryPeriodJitterMs"],
  ...["deploymentIngressStaticHosts", "deploymentIngressDomain", "deploymentBlockedHostnames"],
  ...[
    "gatewayListenAddress",
    "gatewayGrpcListenAddress",
    "gatewayMetricsTokenFile",
    "gatewayTlsCert",
    "gatewayTlsKey",
    "certIssuerEnabled",
  ],
  ...["certIssuerEmail", "certIssuerCaDirUrl", "certIssuerStorageDir", "certIssuerKid", "certIssuerHmac"],
  ...["certIssuerHttpChallengePort", "certIssuerTlsChallengePort", "certIssuerDnsProviders"],
  ...["inventoryOperatorEndpoint", "ipOperator", "ipOperatorEndpoint", "ipSharing", "hostnameOperatorEndpoint"],
  ...["bidDeposit", "bidTimeoutMs", "reclamationWindowMs", "policyFile", "bidPriceStrategy"],
  ...["minimumBalance", "warnBalance", "leaseFundsMonitorIntervalMs", "withdrawalPeriodMs", "withdrawalThreshold"],
  ...["ledgerRetentionMs"],
  ...["bidPriceCpuScale", "bidPriceMemoryScale", "bidPriceStorageScale", "bidPriceGpuScale"],
  ...["bidPriceEndpointScale", "bidPriceIpScale"],
  ...["bidPriceScriptPath", "bidPriceScriptProcessLimit", "bidPriceScriptTimeoutMs"],
  ...["priceTargetCpu", "priceTargetMemory", "priceTargetEphemeral", "priceTargetHdd", "priceTargetSsd"],
  ...["priceTargetNvme", "priceTargetEndpoint", "priceTargetIp", "priceTargetGpuMappings"],
  ...["tokenPriceFile", "tokenPriceUrl", "tokenPriceOracle", "tokenPriceField", "tokenPriceTimeField"],
  ...["tokenPriceMaxAgeMs", "tokenPricePeriodMs"],
  ...["discoveryImage", "discoveryNamespace", "discoveryPrivileged", "discoveryApiPort", "discoveryRoot"],
  ...["operatorProvider", "metalLbEndpoint", "metalLbPool", "ipRange"],
  ...["pruneIntervalMs", "webRefreshIntervalMs", "retryDelayMs"],
  ...["ignoreListEntryLimit", "ignoreListAgeLimitMs", "eventFailureLimit"],
] as const satisfies readonly SettingName[];

export type UsedSetting = (typeof usedSettings)[number];
export type UsedConfig = Pick<Config, UsedSetting>;

const used: ReadonlySet<SettingName> = new Set(usedSettings);

/** Where a setting has no effect yet, that in words. */
export function noEffectYet(name: SettingName): string {
  return used.has(name) ? "" : "no effect yet";
}
