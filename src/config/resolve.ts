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
  const values = new Proxy(resolved.values, {
    get(target, name) {
      if (wrong.has(name as SettingName)) throw skipped;
      return Reflect.get(target, name);
    },
  });
  for (const rule of rules) {
    try {
      const problem = problemOfRule(rule, { ...resolved, values });
      if (problem) findings.problems.push(problem);
    } catch (thrown) {
      if (thrown !== skipped) throw thrown;
    }
  }
  if (wrong.size > 0) return;
  findings.warnings.push(...remarks.map((remark) => remark(resolved.values)).filter((text) => text !== false));
}

/** Thrown where a rule reads a setting that is itself wrong: its problem is reported already. */
const skipped = new Error("the rule does not apply");

function problemOfRule({ blames, broken, hint }: Rule, { values, sources }: Resolved): ProviderError | undefined {
  const value = values[blames];
  const reason = broken(values, (name) => sources[name] !== "default");
  if (reason === false) return undefined;
  const { flag, key, format } = settingOf(blames);
  const shown = quote(format.show(value ?? ""));
  return invalidSetting(sources[blames], { name: flag ?? key ?? blames, value: shown, reason, hint });
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

/** A constraint between settings. */
interface Rule {
  readonly blames: SettingName;
  /** Completes "withdrawal-period cannot be 5m: …". */
  broken(config: Config, isGiven: (name: SettingName) => boolean): string | false;
  readonly hint: string;
}

const rules: readonly Rule[] = [
  ...(["nodeCertFiles", "nodeKeyFiles", "nodeCaFiles"] as const).map(onePathPerNode),
  {
    blames: "nodeCertFiles",
    broken: ({ nodeCertFiles: certs = [], nodeKeyFiles: keys = [] }) =>
      certs.length !== keys.length && `there are ${certs.length} of them and ${keys.length} keys`,
    hint: "Give --node-cert and --node-key together, one key for each certificate.",
  },
  {
    blames: "withdrawalPeriodMs",
    broken: ({ withdrawalPeriodMs, leaseFundsMonitorIntervalMs: intervalMs }) =>
      withdrawalPeriodMs !== 0 &&
      withdrawalPeriodMs < intervalMs &&
      `it is shorter than lease-funds-monitor-interval, which is ${formatDuration(intervalMs)}`,
    hint: "Make it at least as long, or 0 to turn it off.",
  },
  {
    blames: "deploymentIngressStaticHosts",
    broken: ({ deploymentIngressStaticHosts, deploymentIngressDomain }) =>
      deploymentIngressStaticHosts &&
      deploymentIngressDomain === undefined &&
      "there is no domain for those host names",
    hint: "Give one with --deployment-ingress-domain, like ingress.example.com.",
  },
  {
    blames: "bidPriceStrategy",
    broken: ({ bidPriceStrategy, bidPriceScriptPath }) =>
      bidPriceStrategy === "shellScript" && bidPriceScriptPath === undefined && "there is no script to ask",
    hint: "Give its path with --bid-price-script-path.",
  },
  {
    blames: "tokenPriceUrl",
    broken: ({ tokenPriceUrl, tokenPriceFile }) =>
      tokenPriceUrl !== undefined && tokenPriceFile !== undefined && onePrice,
    hint: "Give either --token-price-url or --token-price-file.",
  },
  {
    blames: "tokenPriceOracle",
    broken: ({ tokenPriceOracle, tokenPriceFile, tokenPriceUrl }) =>
      tokenPriceOracle && (tokenPriceFile ?? tokenPriceUrl) !== undefined && onePrice,
    hint: "Give --token-price-oracle without --token-price-file and --token-price-url.",
  },
  {
    blames: "fees",
    broken: ({ fees }, isGiven) =>
      fees !== undefined && isGiven("gasPrices") && "a fixed fee and a price of gas exclude each other",
    hint: "Give either --fees or --gas-prices.",
  },
  {
    blames: "gatewayTlsCert",
    broken: ({ gatewayTlsCert, gatewayTlsKey }) =>
      gatewayTlsCert !== undefined && gatewayTlsKey === undefined && "a certificate needs its key",
    hint: "Give the key's file with --gateway-tls-key.",
  },
  {
    blames: "gatewayTlsKey",
    broken: ({ gatewayTlsCert, gatewayTlsKey }) =>
      gatewayTlsKey !== undefined && gatewayTlsCert === undefined && "a key needs its certificate",
    hint: "Give the certificate's file with --gateway-tls-cert.",
  },
  {
    blames: "certIssuerEnabled",
    broken: ({ certIssuerEnabled, certIssuerEmail, clusterPublicHostname }) =>
      certIssuerEnabled &&
      (certIssuerEmail === undefined || clusterPublicHostname === undefined) &&
      "a certificate is issued to somebody and for a name",
    hint: "Give both --cert-issuer-email and --cluster-public-hostname.",
  },
  {
    blames: "certIssuerEnabled",
    broken: ({ certIssuerEnabled, clusterPublicHostname = "" }) =>
      certIssuerEnabled &&
      isIP(clusterPublicHostname) !== 0 &&
      "cluster-public-hostname is an address, and a certificate is issued for a name",
    hint: "Give --cluster-public-hostname a name that leads to this machine.",
  },
  {
    blames: "certIssuerDnsProviders",
    broken: (config) =>
      config.certIssuerEnabled &&
      config.certIssuerDnsProviders.length > 0 &&
      hasNoChallenge(config) &&
      "this provider does not answer dns-01 challenges, and the other kinds are turned off",
    hint: "Set --cert-issuer-http-challenge-port or --cert-issuer-tls-challenge-port; or have the certificate issued by another program and give it with --gateway-tls-cert.",
  },
  {
    blames: "certIssuerKid",
    broken: ({ certIssuerEnabled, certIssuerKid, certIssuerHmac }) =>
      certIssuerEnabled &&
      (certIssuerKid === undefined) !== (certIssuerHmac === undefined) &&
      "a key id and its key belong together",
    hint: "Give both --cert-issuer-kid and AP_CERT_ISSUER_HMAC, or neither.",
  },
  {
    blames: "bus",
    broken: ({ bus, redisUrl, redisSentinels }) =>
      bus === "redis" && redisUrl === undefined && !redisSentinels?.length && "it is not said where Redis is",
    hint: "Give --redis-url or --redis-sentinels.",
  },
];

const onePrice = "the price of the token comes from one place";

const hasNoChallenge = ({ certIssuerHttpChallengePort, certIssuerTlsChallengePort }: Config) =>
  certIssuerHttpChallengePort + certIssuerTlsChallengePort === 0;

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
  (config) =>
    config.certIssuerEnabled &&
    hasNoChallenge(config) &&
    config.certIssuerDnsProviders.length === 0 &&
    "No certificate can be issued: every kind of challenge is turned off. Set --cert-issuer-http-challenge-port.",
];

/** Checked by `checkPricing`: only a provider that bids needs prices. */
const somePriceIsSet: Rule = {
  blames: "bidPriceStrategy",
  broken({ bidPriceStrategy, bidPriceStorageScale, bidPriceGpuScale, ...config }) {
    const { bidPriceCpuScale, bidPriceMemoryScale, bidPriceEndpointScale, bidPriceIpScale } = config;
    const plain = [bidPriceCpuScale, bidPriceMemoryScale, bidPriceEndpointScale, bidPriceIpScale].flatMap(everyPrice);
    const byName = [bidPriceStorageScale, bidPriceGpuScale].flatMap(everyPrice);
    const all = [...plain, ...byName.flatMap((prices) => [...prices.values()])];
    return bidPriceStrategy === "scale" && all.every(({ atto }) => atto === 0n) && "all its prices are zero";
  },
  hint: "Set at least one price, like --bid-price-cpu-scale 0.004.",
};

function onePathPerNode(name: "nodeCertFiles" | "nodeKeyFiles" | "nodeCaFiles"): Rule {
  return {
    blames: name,
    broken: ({ nodes, [name]: paths = [] }) =>
      paths.length > 1 && paths.length !== nodes.length && `it names ${paths.length} files for ${nodes.length} nodes`,
    hint: "Name one for all nodes, or one for each in the order of --node, with - where there is none.",
  };
}
