/** What must hold between settings. Each rule names the setting it blames, and what to do about it. */
import { isIP } from "node:net";
import { everyPrice } from "../market/coin.ts";
import { formatDuration } from "./formats/duration.ts";
import type { Config, SettingName } from "./table.ts";

export interface Rule {
  readonly blames: SettingName;
  /** What else the rule looks at: it says nothing while one of these is itself wrong. */
  readonly reads: readonly SettingName[];
  isBroken(config: Config, isGiven: (name: SettingName) => boolean): boolean;
  /** Completes "withdrawal-period cannot be 5m: …". */
  reason(config: Config): string;
  readonly hint: string;
}

export const rules: readonly Rule[] = [
  ...(["nodeCertFiles", "nodeKeyFiles", "nodeCaFiles"] as const).map(onePathPerNode),
  {
    blames: "nodeCertFiles",
    reads: ["nodeKeyFiles"],
    isBroken: ({ nodeCertFiles = [], nodeKeyFiles = [] }) => nodeCertFiles.length !== nodeKeyFiles.length,
    reason: ({ nodeCertFiles = [], nodeKeyFiles = [] }) =>
      `there are ${nodeCertFiles.length} of them and ${nodeKeyFiles.length} keys`,
    hint: "Give --node-cert and --node-key together, one key for each certificate.",
  },
  {
    blames: "withdrawalPeriodMs",
    reads: ["leaseFundsMonitorIntervalMs"],
    isBroken: ({ withdrawalPeriodMs, leaseFundsMonitorIntervalMs }) =>
      withdrawalPeriodMs !== 0 && withdrawalPeriodMs < leaseFundsMonitorIntervalMs,
    reason: ({ leaseFundsMonitorIntervalMs }) =>
      `it is shorter than lease-funds-monitor-interval, which is ${formatDuration(leaseFundsMonitorIntervalMs)}`,
    hint: "Make it at least as long, or 0 to turn it off.",
  },
  {
    blames: "deploymentIngressStaticHosts",
    reads: ["deploymentIngressDomain"],
    isBroken: ({ deploymentIngressStaticHosts, deploymentIngressDomain }) =>
      deploymentIngressStaticHosts && deploymentIngressDomain === undefined,
    reason: () => "there is no domain for those host names",
    hint: "Give one with --deployment-ingress-domain, like ingress.example.com.",
  },
  {
    blames: "bidPriceStrategy",
    reads: ["bidPriceScriptPath"],
    isBroken: ({ bidPriceStrategy, bidPriceScriptPath }) =>
      bidPriceStrategy === "shellScript" && bidPriceScriptPath === undefined,
    reason: () => "there is no script to ask",
    hint: "Give its path with --bid-price-script-path.",
  },
  {
    blames: "tokenPriceUrl",
    reads: ["tokenPriceFile"],
    isBroken: ({ tokenPriceUrl, tokenPriceFile }) => tokenPriceUrl !== undefined && tokenPriceFile !== undefined,
    reason: () => "the price of the token comes from one place",
    hint: "Give either --token-price-url or --token-price-file.",
  },
  {
    blames: "tokenPriceOracle",
    reads: ["tokenPriceFile", "tokenPriceUrl"],
    isBroken: ({ tokenPriceOracle, tokenPriceFile, tokenPriceUrl }) =>
      tokenPriceOracle && (tokenPriceFile !== undefined || tokenPriceUrl !== undefined),
    reason: () => "the price of the token comes from one place",
    hint: "Give --token-price-oracle without --token-price-file and --token-price-url.",
  },
  {
    blames: "fees",
    reads: ["gasPrices"],
    isBroken: ({ fees }, isGiven) => fees !== undefined && isGiven("gasPrices"),
    reason: () => "a fixed fee and a price of gas exclude each other",
    hint: "Give either --fees or --gas-prices.",
  },
  {
    blames: "gatewayTlsCert",
    reads: ["gatewayTlsKey"],
    isBroken: ({ gatewayTlsCert, gatewayTlsKey }) => gatewayTlsCert !== undefined && gatewayTlsKey === undefined,
    reason: () => "a certificate needs its key",
    hint: "Give the key's file with --gateway-tls-key.",
  },
  {
    blames: "gatewayTlsKey",
    reads: ["gatewayTlsCert"],
    isBroken: ({ gatewayTlsCert, gatewayTlsKey }) => gatewayTlsKey !== undefined && gatewayTlsCert === undefined,
    reason: () => "a key needs its certificate",
    hint: "Give the certificate's file with --gateway-tls-cert.",
  },
  {
    blames: "certIssuerEnabled",
    reads: ["certIssuerEmail", "clusterPublicHostname"],
    isBroken: ({ certIssuerEnabled, certIssuerEmail, clusterPublicHostname }) =>
      certIssuerEnabled && (certIssuerEmail === undefined || clusterPublicHostname === undefined),
    reason: () => "a certificate is issued to somebody and for a name",
    hint: "Give both --cert-issuer-email and --cluster-public-hostname.",
  },
  {
    blames: "certIssuerEnabled",
    reads: ["clusterPublicHostname"],
    isBroken: ({ certIssuerEnabled, clusterPublicHostname }) =>
      certIssuerEnabled && clusterPublicHostname !== undefined && isIP(clusterPublicHostname) !== 0,
    reason: () => "cluster-public-hostname is an address, and a certificate is issued for a name",
    hint: "Give --cluster-public-hostname a name that leads to this machine.",
  },
  {
    blames: "certIssuerDnsProviders",
    reads: ["certIssuerEnabled", "certIssuerHttpChallengePort", "certIssuerTlsChallengePort"],
    isBroken: ({ certIssuerEnabled, certIssuerDnsProviders, ...ports }) =>
      certIssuerEnabled &&
      certIssuerDnsProviders.length > 0 &&
      ports.certIssuerHttpChallengePort === 0 &&
      ports.certIssuerTlsChallengePort === 0,
    reason: () => "this provider does not answer dns-01 challenges, and the other kinds are turned off",
    hint: "Set --cert-issuer-http-challenge-port or --cert-issuer-tls-challenge-port; or have the certificate issued by another program and give it with --gateway-tls-cert.",
  },
  {
    blames: "certIssuerKid",
    reads: ["certIssuerEnabled", "certIssuerHmac"],
    isBroken: ({ certIssuerEnabled, certIssuerKid, certIssuerHmac }) =>
      certIssuerEnabled && (certIssuerKid === undefined) !== (certIssuerHmac === undefined),
    reason: () => "a key id and its key belong together",
    hint: "Give both --cert-issuer-kid and AP_CERT_ISSUER_HMAC, or neither.",
  },
  {
    blames: "bus",
    reads: ["redisUrl", "redisSentinels"],
    isBroken: ({ bus, redisUrl, redisSentinels }) =>
      bus === "redis" && redisUrl === undefined && !redisSentinels?.length,
    reason: () => "it is not said where Redis is",
    hint: "Give --redis-url or --redis-sentinels.",
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
  ({ certIssuerEnabled, certIssuerDnsProviders }) =>
    certIssuerEnabled &&
    certIssuerDnsProviders.length > 0 &&
    "--cert-issuer-dns-providers has no effect: this provider answers http-01 and tls-alpn-01 challenges.",
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
    ...(["bidPriceCpuScale", "bidPriceMemoryScale", "bidPriceStorageScale", "bidPriceGpuScale"] as const),
    ...(["bidPriceEndpointScale", "bidPriceIpScale"] as const),
  ],
  isBroken({ bidPriceStrategy, bidPriceStorageScale, bidPriceGpuScale, ...config }) {
    const { bidPriceCpuScale, bidPriceMemoryScale, bidPriceEndpointScale, bidPriceIpScale } = config;
    const plain = [bidPriceCpuScale, bidPriceMemoryScale, bidPriceEndpointScale, bidPriceIpScale].flatMap(everyPrice);
    const named = [bidPriceStorageScale, bidPriceGpuScale]
      .flatMap(everyPrice)
      .flatMap((prices) => [...prices.values()]);
    return bidPriceStrategy === "scale" && [...plain, ...named].every(({ atto }) => atto === 0n);
  },
  reason: () => "all its prices are zero",
  hint: "Set at least one price, like --bid-price-cpu-scale 0.004.",
};

function onePathPerNode(name: "nodeCertFiles" | "nodeKeyFiles" | "nodeCaFiles"): Rule {
  return {
    blames: name,
    reads: ["nodes"],
    isBroken: ({ nodes, [name]: paths = [] }) => paths.length > 1 && paths.length !== nodes.length,
    reason: ({ nodes, [name]: paths = [] }) => `it names ${paths.length} files for ${nodes.length} nodes`,
    hint: "Name one for all nodes, or one for each in the order of --node, with - where there is none.",
  };
}
