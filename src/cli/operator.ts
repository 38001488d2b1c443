/** `akash-provider operator`: the processes that run beside the provider, each with a Deployment of its own. */

import { Command } from "commander";
import { settingsCommand } from "../config/options.ts";
import type { SettingName } from "../config/table.ts";
import { parseAddress } from "../market/address.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { realRandom } from "../runtime/random.ts";
import { blockedHostsOf, kubeconfigOf, type Prepared, prepare, redisOf } from "./settings.ts";
import { abortOnSignals } from "./signals.ts";
import { version } from "./version.ts";

export function operatorCommand(): Command {
  return new Command("operator")
    .description("run one of the provider's operators")
    .addCommand(inventoryCommand())
    .addCommand(hostnameCommand())
    .addCommand(ipCommand());
}

function inventoryCommand(): Command {
  const description = "publish what the cluster's nodes and storage have, and label the nodes with it";
  return settingsCommand("inventory", "inventory", description)
    .addCommand(discoverCommand())
    .action((_, given: Command) => runInventory(given));
}

async function runInventory(given: Command): Promise<void> {
  const prepared = prepare(given);
  const { values } = prepared;
  const { createInventoryProcess } = await import("../provider/inventory-process.ts");
  const operator = createInventoryProcess({
    ...processOptions(prepared),
    apiTimeoutMs: values.apiTimeoutMs,
    config: values.inventoryConfig,
    registry: values.providerConfigsUrl,
    registryPeriodMs: values.registryQueryPeriodMs,
    discoveryImage: defaulted(prepared, "discoveryImage"),
    discoveryPort: values.discoveryApiPort,
    discoveryNamespace: values.discoveryNamespace,
    discoveryPrivileged: values.discoveryPrivileged,
  });
  await operator.run(abortOnSignals());
}

function hostnameCommand(): Command {
  const description = "turn the host names of leases into routes to their workloads";
  return settingsCommand("hostname", "hostname", description).action((_, given: Command) => runHostname(given));
}

async function runHostname(given: Command): Promise<void> {
  const prepared = prepare(given);
  const { values } = prepared;
  const { createHostnameProcess } = await import("../provider/hostname-process.ts");
  const operator = createHostnameProcess({
    ...processOptions(prepared),
    manifestNamespace: values.k8sManifestNamespace,
    ingressMode: values.ingressMode,
    ingressProvider: values.ingressProvider,
    ingressClass: values.ingressClass,
    gatewayName: values.gatewayName,
    gatewayNamespace: values.gatewayNamespace,
    gatewayProvider: values.gatewayProvider,
    proxyBufferSize: values.proxyBufferSize,
    tls: { secret: values.ingressTlsSecret, issuer: values.ingressTlsIssuer },
    removesOldKind: values.migrationsEnabled,
    ...listOptions(values),
    blockedHosts: blockedHostsOf(values),
    ingressDomain: values.deploymentIngressDomain,
    publicHost: values.clusterPublicHostname || undefined,
    requiresProof: values.hostnameProof,
    probeAt: values.hostnameProbe,
  });
  await operator.run(abortOnSignals());
}

function ipCommand(): Command {
  const description = "give leases addresses of their own, through MetalLB";
  return settingsCommand("ip", "ip", description).action((_, given: Command) => runIp(given));
}

async function runIp(given: Command): Promise<void> {
  const prepared = prepare(given);
  const { values } = prepared;
  if (values.operatorProvider === undefined) {
    const what = "nothing says which provider the IP operator works for";
    throw new ProviderError("AKP_SETTING_MISSING", {
      what,
      hint: "Name its account with --provider or AP_PROVIDER: akash1…",
    });
  }
  const { createIpProcess } = await import("../provider/ip-process.ts");
  const operator = createIpProcess({
    ...processOptions(prepared),
    provider: parseAddress(values.operatorProvider),
    manifestNamespace: values.k8sManifestNamespace,
    pool: values.metalLbPool,
    ranges: values.ipRange,
    metalLb: values.metalLbEndpoint,
    ...listOptions(values),
  });
  await operator.run(abortOnSignals());
}

/** Of the operators that list leases with which something fails. */
function listOptions(values: Prepared["values"]) {
  return {
    retryDelayMs: values.retryDelayMs,
    pruneIntervalMs: values.pruneIntervalMs,
    refreshMs: values.webRefreshIntervalMs,
    ignoreList: {
      failureLimit: values.eventFailureLimit,
      entryLimit: values.ignoreListEntryLimit,
      ageLimitMs: values.ignoreListAgeLimitMs,
    },
  };
}

/** What every operator's process is told. */
function processOptions(prepared: Prepared) {
  const { values, sources, log } = prepared;
  const redis = redisOf(values);
  return {
    kubeconfig: kubeconfigOf({ values, sources }),
    environment: process.env,
    ...(redis && { redis }),
    ...(values.metricsListener && { metricsListener: values.metricsListener }),
    host: values.restAddress,
    restPort: defaulted(prepared, "restPort"),
    grpcPort: defaulted(prepared, "grpcPort"),
    ...(values.podName !== undefined && { podName: values.podName }),
    podNamespace: values.podNamespace,
    version,
    shutdownMs: values.shutdownTimeoutMs,
    clock: realClock,
    random: realRandom,
    log,
  };
}

function defaulted<Name extends SettingName>({ values, sources }: Prepared, name: Name) {
  return { value: values[name], given: sources[name] !== "default" };
}

function discoverCommand(): Command {
  const description = "serve what this node has to the inventory operator, which starts it on every node";
  return settingsCommand("discovery", "discover", description).action(async (_, given: Command) => {
    const { values, log } = prepare(given);
    const { runDiscovery } = await import("./discovery.ts");
    const { discoveryRoot: root, discoveryApiPort: port, shutdownTimeoutMs: shutdownMs } = values;
    await runDiscovery({ root, port, shutdownMs, log });
  });
}
