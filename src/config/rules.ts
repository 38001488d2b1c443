/** What must hold between settings. Each rule names the setting it blames, and what to do about it. */
import { zero } from "../market/decimal.ts";
import { formatDuration } from "./formats/duration.ts";
import type { Config, SettingName } from "./table.ts";

export interface Violation {
  /** Completes "withdrawal-period cannot be 5m: …". */
  readonly reason: string;
  readonly hint: string;
}

export interface Rule {
  readonly blames: SettingName;
  /** What else the rule looks at: it says nothing while one of these is itself wrong. */
  readonly reads: readonly SettingName[];
  broken(config: Config, isGiven: (name: SettingName) => boolean): Violation | false;
}

export const rules: readonly Rule[] = [
  ...(["nodeCertFiles", "nodeKeyFiles", "nodeCaFiles"] as const).map(onePathPerNode),
  {
    blames: "nodeCertFiles",
    reads: ["nodeKeyFiles"],
    broken: ({ nodeCertFiles, nodeKeyFiles }) =>
      (nodeCertFiles?.length ?? 0) !== (nodeKeyFiles?.length ?? 0) && {
        reason: `there are ${nodeCertFiles?.length ?? 0} of them and ${nodeKeyFiles?.length ?? 0} keys`,
        hint: "Give --node-cert and --node-key together, one key for each certificate.",
      },
  },
  {
    blames: "withdrawalPeriodMs",
    reads: ["leaseFundsMonitorIntervalMs"],
    broken: ({ withdrawalPeriodMs, leaseFundsMonitorIntervalMs }) =>
      withdrawalPeriodMs !== 0 &&
      withdrawalPeriodMs < leaseFundsMonitorIntervalMs && {
        reason: `it is shorter than lease-funds-monitor-interval, which is ${formatDuration(leaseFundsMonitorIntervalMs)}`,
        hint: "Make it at least as long, or 0 to turn it off.",
      },
  },
  {
    blames: "deploymentIngressStaticHosts",
    reads: ["deploymentIngressDomain"],
    broken: ({ deploymentIngressStaticHosts, deploymentIngressDomain }) =>
      deploymentIngressStaticHosts &&
      deploymentIngressDomain === undefined && {
        reason: "there is no domain for those host names",
        hint: "Give one with --deployment-ingress-domain, like ingress.example.com.",
      },
  },
  {
    blames: "bidPriceStrategy",
    reads: ["bidPriceScriptPath"],
    broken: ({ bidPriceStrategy, bidPriceScriptPath }) =>
      bidPriceStrategy === "shellScript" &&
      bidPriceScriptPath === undefined && {
        reason: "there is no script to ask",
        hint: "Give its path with --bid-price-script-path.",
      },
  },
  {
    blames: "fees",
    reads: ["gasPrices"],
    broken: ({ fees }, isGiven) =>
      fees !== undefined &&
      isGiven("gasPrices") && {
        reason: "a fixed fee and a price of gas exclude each other",
        hint: "Give either --fees or --gas-prices.",
      },
  },
  {
    blames: "gatewayTlsCert",
    reads: ["gatewayTlsKey"],
    broken: ({ gatewayTlsCert, gatewayTlsKey }) =>
      gatewayTlsCert !== undefined &&
      gatewayTlsKey === undefined && {
        reason: "a certificate needs its key",
        hint: "Give the key's file with --gateway-tls-key.",
      },
  },
  {
    blames: "gatewayTlsKey",
    reads: ["gatewayTlsCert"],
    broken: ({ gatewayTlsCert, gatewayTlsKey }) =>
      gatewayTlsKey !== undefined &&
      gatewayTlsCert === undefined && {
        reason: "a key needs its certificate",
        hint: "Give the certificate's file with --gateway-tls-cert.",
      },
  },
  {
    blames: "certIssuerEnabled",
    reads: ["certIssuerEmail", "clusterPublicHostname"],
    broken: ({ certIssuerEnabled, certIssuerEmail, clusterPublicHostname }) =>
      certIssuerEnabled &&
      (certIssuerEmail === undefined || clusterPublicHostname === undefined) && {
        reason: "a certificate is issued to somebody and for a name",
        hint: "Give both --cert-issuer-email and --cluster-public-hostname.",
      },
  },
  {
    blames: "bus",
    reads: ["redisUrl", "redisSentinels"],
    broken: ({ bus, redisUrl, redisSentinels }) =>
      bus === "redis" &&
      redisUrl === undefined &&
      !redisSentinels?.length && {
        reason: "it is not said where Redis is",
        hint: "Give --redis-url or --redis-sentinels.",
      },
  },
];

/** Settings that are right and yet do nothing, because of another one. */
export const remarks: readonly ((config: Config) => string | false)[] = [
  ({ bus, redisUrl, redisSentinels }) =>
    bus === "memory" &&
    (redisUrl !== undefined || redisSentinels !== undefined) &&
    "--redis-url and --redis-sentinels have no effect: --bus is memory.",
  ({ certIssuerEnabled, gatewayTlsCert }) =>
    certIssuerEnabled &&
    gatewayTlsCert !== undefined &&
    "--gateway-tls-cert has no effect: --cert-issuer-enabled gets a certificate of its own.",
  ({ certIssuerEnabled, certIssuerHttpChallengePort, certIssuerTlsChallengePort, certIssuerDnsProviders }) =>
    certIssuerEnabled &&
    certIssuerHttpChallengePort === 0 &&
    certIssuerTlsChallengePort === 0 &&
    certIssuerDnsProviders.length === 0 &&
    "No certificate can be issued: every kind of challenge is turned off. Set --cert-issuer-http-challenge-port.",
];

/** Only a provider that bids has to know its prices, so this one is asked for by `checkPricing`. */
export const somePriceIsSet: Rule = {
  blames: "bidPriceStrategy",
  reads: [
    "bidPriceCpuScale",
    "bidPriceMemoryScale",
    "bidPriceStorageScale",
    "bidPriceEndpointScale",
    "bidPriceIpScale",
  ],
  broken: ({ bidPriceStrategy, ...config }) =>
    bidPriceStrategy === "scale" &&
    [
      config.bidPriceCpuScale,
      config.bidPriceMemoryScale,
      ...config.bidPriceStorageScale.values(),
      config.bidPriceEndpointScale,
      config.bidPriceIpScale,
    ].every(({ atto }) => atto === zero.atto) && {
      reason: "all its prices are zero",
      hint: "Set at least one price, like --bid-price-cpu-scale 0.004.",
    },
};

function onePathPerNode(name: "nodeCertFiles" | "nodeKeyFiles" | "nodeCaFiles"): Rule {
  return {
    blames: name,
    reads: ["nodes"],
    broken({ nodes, [name]: paths }) {
      if (paths === undefined || paths.length <= 1 || paths.length === nodes.length) return false;
      return {
        reason: `it names ${paths.length} files for ${nodes.length} nodes`,
        hint: "Name one for all nodes, or one for each in the order of --node, with - where there is none.",
      };
    },
  };
}
