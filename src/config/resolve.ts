/** From what was given to values: each setting read by its own schema, then held against the rules between them. */

import { isIP } from "node:net";
import type { z } from "zod";
import { everyPrice } from "../market/coin.ts";
import type { ProviderError } from "../runtime/errors.ts";
import { invariant } from "../runtime/invariant.ts";
import type { Format } from "./formats/format.ts";
import { formatDuration } from "./formats/plain.ts";
import { type Findings, type Given, invalidSetting, quote, unknownSetting } from "./problem.ts";
import type { LiveSetting, Surroundings } from "./setting.ts";
import { type Config, liveSettings, type SettingName, settingOf } from "./table.ts";

export interface Resolved {
  readonly values: Config;
  /** Where each value came from: "flag --bid-timeout", "environment AKASH_BID_TIMEOUT", "provider.yaml:12", "default". */
  readonly sources: Readonly<Record<SettingName, string>>;
}

type GivenFor = (setting: LiveSetting<unknown>) => Given | undefined;

interface Uses {
  /** A setting that is not used has no value, and no rule is applied to it. */
  isUsed(setting: LiveSetting<unknown>): boolean;
  /** Whether an invalid value is replaced by the default, with a warning. */
  mayDefault(setting: LiveSetting<unknown>): boolean;
}

export function resolve(
  givenFor: GivenFor,
  { isUsed, mayDefault }: Uses,
  userHome: string,
  findings: Findings,
): Resolved {
  const values = new Map<SettingName, unknown>();
  const sources = new Map<SettingName, string>();
  const wrong = new Set<SettingName>();
  const surroundings: Surroundings = {
    userHome,
    // --home is the first setting of the table, so it is there when another one's default asks for it.
    get home() {
      return String(values.get("home"));
    },
    isGiven: (flag) =>
      liveSettings.some(([, setting]) => setting.flag === flag && (givenFor(setting)?.raw ?? "") !== ""),
  };
  for (const [name, setting] of liveSettings) {
    if (!isUsed(setting)) {
      wrong.add(name);
      continue;
    }
    let given = givenFor(setting);
    let reading = given && readGiven(setting, given, userHome);
    if (reading && reading.problems.length > 0 && mayDefault(setting)) {
      findings.warnings.push(...reading.problems.map(({ message }) => `${message}; the default is used`));
      given = reading = undefined;
    }
    const { value, problems } = reading ?? readDefault(setting, surroundings);
    values.set(name, value);
    sources.set(name, given?.source ?? "default");
    if (problems.length > 0) wrong.add(name);
    findings.problems.push(...problems);
  }
  // Every name of the table now has what its own schema made of it; only the compiler cannot see that.
  const resolved = { values: Object.fromEntries(values), sources: Object.fromEntries(sources) } as unknown as Resolved;
  applyRules(resolved, wrong, findings);
  return resolved;
}

type Reading = { readonly value: unknown; readonly problems: readonly ProviderError[] };

function readDefault(setting: LiveSetting<unknown>, surroundings: Surroundings): Reading {
  const { default: fallback, flag, key, format } = setting;
  if (fallback === undefined) return { value: undefined, problems: [] };
  const raw = typeof fallback === "string" ? fallback : fallback.of(surroundings);
  const { success, data } = format.schema.safeParse(raw);
  invariant(success, "the default of a setting is a value of its format", { setting: flag ?? key, raw });
  return { value: data, problems: [] };
}

function readGiven(setting: LiveSetting<unknown>, given: Given, userHome: string): Reading {
  const { format } = setting;
  // An empty flag takes back what environment or file say; an empty file for a secret is a mistake.
  if (given.raw === "" && setting.default === undefined && !format.isSecret) return { value: undefined, problems: [] };
  const raw = format.isPath && typeof given.raw === "string" ? expandPaths(given.raw, format, userHome) : given.raw;
  const { success, data, error } = format.schema.safeParse(raw);
  if (success) return { value: data, problems: [] };
  return { value: undefined, problems: error.issues.flatMap((issue) => problemsOf(issue, setting, given)) };
}

function problemsOf(issue: z.core.$ZodIssue, { format }: LiveSetting<unknown>, given: Given): ProviderError[] {
  const { path, message } = issue;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownSetting(given.locate([...path, key, ""]), key, format.fields ?? []));
  }
  const hint: unknown = issue.code === "custom" ? issue.params?.["hint"] : undefined;
  const inside = path.filter((part) => typeof part === "string");
  return [
    invalidSetting(given.locate(path), {
      name: [...inside.reverse(), given.name].join(" of "),
      value: format.isSecret || format.isHidden ? "that (hidden)" : quote(partOf(given.raw, path)),
      reason: message,
      hint: typeof hint === "string" ? hint : `Write ${format.expects}.`,
    }),
  ];
}

function partOf(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((part, name) => (part instanceof Object ? Reflect.get(part, name) : undefined), raw);
}

function applyRules(resolved: Resolved, wrong: ReadonlySet<SettingName>, findings: Findings): void {
  for (const rule of rules) {
    // A rule that looks at a setting which is itself wrong would only add to the confusion.
    if ([rule.blames, ...rule.reads].some((name) => wrong.has(name))) continue;
    const problem = problemOfRule(rule, resolved);
    if (problem) findings.problems.push(problem);
  }
  if (wrong.size > 0) return;
  findings.warnings.push(...remarks.map((remark) => remark(resolved.values)).filter((text) => text !== false));
}

function problemOfRule(rule: Rule, { values, sources }: Resolved): ProviderError | undefined {
  const { blames, hint } = rule;
  if (!rule.isBroken(values, (name) => sources[name] !== "default")) return undefined;
  const { flag, key, format } = settingOf(blames);
  const value = quote(format.show(values[blames] ?? ""));
  return invalidSetting(sources[blames], { name: flag ?? key ?? blames, value, reason: rule.reason(values), hint });
}

/** Throws if the provider would bid nothing for everything. Whoever is about to bid asks this. */
export function checkPricing(resolved: Resolved): void {
  const problem = problemOfRule(somePriceIsSet, resolved);
  if (problem) throw problem;
}

function expandPaths(text: string, { isList }: Format<unknown>, userHome: string): string {
  if (!isList) return expandHome(text, userHome);
  return text
    .split(",")
    .map((path) => expandHome(path.trim(), userHome))
    .join(",");
}

/** In paths, "~" and $HOME stand for the user's home directory, also where no shell has replaced them. */
export function expandHome(path: string, userHome: string): string {
  return path.replace(/^~(?=\/|$)/, () => userHome).replace(/\$(?:HOME\b|\{HOME\})/g, () => userHome);
}

/** What must hold between settings. Each rule names the setting it blames, and what to do about it. */
interface Rule {
  readonly blames: SettingName;
  /** What else the rule looks at: it says nothing while one of these is itself wrong. */
  readonly reads: readonly SettingName[];
  isBroken(config: Config, isGiven: (name: SettingName) => boolean): boolean;
  /** Completes "withdrawal-period cannot be 5m: …". */
  reason(config: Config): string;
  readonly hint: string;
}

const rules: readonly Rule[] = [
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
const remarks: readonly ((config: Config) => string | false)[] = [
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
const somePriceIsSet: Rule = {
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
