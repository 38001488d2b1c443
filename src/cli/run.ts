/** `akash-provider run`: the provider itself, until a signal or a failure ends it. */
import { hostname } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import type { ChainServiceOptions } from "../chain/chain-service.ts";
import { settingsCommand } from "../config/options.ts";
import type { Config } from "../config/table.ts";
import type { CertificateOptions } from "../gateway/certificate/certificate-service.ts";
import type { TenantGatewayOptions } from "../gateway/gateway-service.ts";
import { readPodNamespace } from "../kube/http/kubeconfig.ts";
import type { ExclusiveOptions } from "../provider/exclusive.ts";
import { createProvider } from "../provider/provider.ts";
import { realClock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import { realRandom } from "../runtime/random.ts";
import type { Redactor } from "../runtime/redact.ts";
import { nodesOf } from "./client.ts";
import { balanceOf, marketOf } from "./market.ts";
import { keySettings, kubeconfigOf, prepare, redisOf, requireKey, type TakenSettings } from "./settings.ts";
import { abortOnSignals } from "./signals.ts";
import { version } from "./version.ts";

export function runCommand(): Command {
  return settingsCommand("run", "run", "run the provider with your settings").action(async (_, given: Command) => {
    const { values, sources, log, redactor, follow } = prepare(given, "run");
    const { dataDir, metricsListener, notifyUrl, shutdownTimeoutMs } = values;
    if (notifyUrl !== undefined) redactor.register(notifyUrl);
    const redis = redisOf(values);
    const chain = await chainOf(values, redactor, log);
    const deps = { environment: process.env, clock: realClock, random: realRandom, log };
    const settings = follow(deps);
    const market = values.clusterK8s ? marketOf(values, settings, kubeconfigOf({ values, sources }), deps) : undefined;
    if (!market) log.info("not bidding, since no cluster is for sale", { setting: "cluster-k8s" });
    const namespace = leaseNamespace({ values, sources });
    const provider = createProvider({
      dataDir,
      settings,
      keep: { ordersMs: values.marketRetentionMs, ledgerMs: values.ledgerRetentionMs },
      ...(redis && { redis }),
      ...(metricsListener && { metricsListener }),
      ...(notifyUrl !== undefined && { notify: { url: notifyUrl, redact: redactor.text } }),
      control: true,
      chain,
      ...market,
      ...(namespace !== undefined && { exclusive: exclusiveIn(namespace) }),
      balance: balanceOf(values),
      gateway: gatewayOf({ values, sources }),
      shutdownMs: shutdownTimeoutMs,
      clock: realClock,
      random: realRandom,
      log,
    });
    await provider.run(abortOnSignals());
  });
}

/** Of the Lease that keeps a second provider out; undefined outside of a cluster. */
function leaseNamespace({ values, sources }: Pick<TakenSettings, "values" | "sources">): string | undefined {
  if (isInPod({ values, sources })) return values.podNamespace;
  const kubeconfig = kubeconfigOf({ values, sources });
  return values.clusterK8s ? readPodNamespace({ kubeconfig, environment: process.env }) : undefined;
}

function exclusiveIn(namespace: string): ExclusiveOptions {
  return { namespace, identity: `${hostname()}-${Buffer.from(realRandom.bytes(4)).toString("hex")}` };
}

async function chainOf(values: Config, redactor: Redactor, log: Log): Promise<ChainServiceOptions> {
  requireKey(values);
  const { openKey } = await import("../chain/keys/open-key.ts");
  const { signer, warnings } = await openKey(keySettings(values), redactor.register);
  for (const warning of warnings) log.info("key warning", { module: "keys", warning });
  const { chainId, gas, gasAdjustment, gasPrices, fees, feeGranter, note } = values;
  return {
    nodes: () => nodesOf(values),
    ...(chainId !== undefined && { chainId }),
    signer,
    settings: { gas, gasAdjustment, gasPrices, fees, feeGranter, note },
  };
}

/** How tenants reach the provider, from its settings. */
function issuerOf(values: TakenSettings["values"]): Pick<CertificateOptions, "issuer"> {
  const { certIssuerEnabled, certIssuerEmail: email, certIssuerKid: kid, certIssuerHmac: hmac } = values;
  if (!certIssuerEnabled || email === undefined) return {};
  return {
    issuer: {
      ...{ directoryUrl: values.certIssuerCaDirUrl, email, dir: values.certIssuerStorageDir },
      httpPort: values.certIssuerHttpChallengePort,
      tlsPort: values.certIssuerTlsChallengePort,
      ...(kid !== undefined && hmac !== undefined && { binding: { kid, hmacKey: hmac } }),
    },
  };
}

/** Only the pod of the provider is given its namespace: elsewhere objects of our own would have no owner. */
function isInPod({ values, sources }: Pick<TakenSettings, "values" | "sources">): boolean {
  return values.clusterK8s && sources.podNamespace !== "default";
}

export function gatewayOf({ values, sources }: Pick<TakenSettings, "values" | "sources">): TenantGatewayOptions {
  const { gatewayListenAddress: listen, clusterPublicHostname, dataDir, home, podNamespace } = values;
  const { gatewayTlsCert: certificate, gatewayTlsKey: key } = values;
  // The two are for the same name; who asks for an issuer is warned that the files have no effect.
  const hasFiles = certificate !== undefined && key !== undefined && !values.certIssuerEnabled;
  return {
    grpcListen: values.gatewayGrpcListenAddress,
    proxyProtocolFrom: values.gatewayProxyProtocolFrom,
    trustedProxies: values.gatewayTrustedProxies,
    ...{ listen, version, publicHost: clusterPublicHostname === "" ? undefined : clusterPublicHostname },
    metricsTokenFile: values.gatewayMetricsTokenFile,
    certificate: {
      keptIn: isInPod({ values, sources }) ? { namespace: podNamespace } : { path: join(dataDir, "certificates.pem") },
      home,
      ...(hasFiles && { files: { certificate, key } }),
      ...issuerOf(values),
    },
  };
}
