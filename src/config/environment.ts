/** Settings from environment variables: AP_<NAME>, then AKASH_<NAME>, as existing providers have them. */
import { type Findings, type Given, givenAt, nearest, type ReadFile, readFileAt } from "./problem.ts";
import type { Setting } from "./setting.ts";
import { type FlaggedSetting, settingsByFlag, variableOf } from "./table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** In the order in which they are looked up. */
const prefixes = ["AP_", "AKASH_"] as const;

/** The charts set this variable and mean this setting. */
const [misnomer, misnamed] = ["GATEWAY_IMPLEMENTATION", "gateway-provider"] as const;

/** Set by the chart without a prefix, so it has never had an effect. */
const unprefixed = "DEPLOYMENT_NETWORK_POLICIES_ENABLED";

/** Every variable that can hold a setting, the stronger ones of a setting first. */
const variables: ReadonlyMap<string, { readonly setting: FlaggedSetting; readonly isFile: boolean }> = new Map(
  [...settingsByFlag.values()].flatMap((setting) => {
    const names = prefixes.map((prefix) => `${prefix}${variableOf(setting.flag)}`);
    const isSecret = setting.type === "live" && setting.format.isSecret;
    const candidates = isSecret ? names.flatMap((name) => [name, `${name}_FILE`]) : names;
    if (setting.type === "live" && setting.alsoVariable) candidates.push(setting.alsoVariable);
    return candidates.map((name) => [name, { setting, isFile: !names.includes(name) && isSecret === true }]);
  }),
);

/** Those that hold a secret themselves, rather than the path of a file that does. */
export const secretVariables: readonly string[] = [...settingsByFlag.values()]
  .filter((setting) => setting.type === "live" && setting.format.isSecret)
  .flatMap(({ flag }) => prefixes.map((prefix) => `${prefix}${variableOf(flag)}`));

/** What the environment gives, by flag. A secret may be in a file, as Kubernetes and Docker hand them out. */
export function readEnvironment(
  environment: Environment,
  isUsed: (setting: Setting) => boolean,
  readFile: ReadFile,
  findings: Findings,
): Map<string, Given> {
  const set = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    if (value && !isServiceLink(name, value)) set.set(name, value);
  }
  const given = new Map<string, Given>();
  for (const [variable, { setting, isFile }] of variables) {
    const { flag } = setting;
    const value = set.get(variable);
    if (value === undefined || given.has(flag) || !isUsed(setting)) continue;
    const source = `environment ${variable}`;
    const text = isFile ? readFileAt(source, value, readFile, findings)?.replace(/\r?\n$/, "") : value;
    if (text !== undefined) given.set(flag, givenAt(source, flag, text));
  }
  for (const [variable, value] of set) judge(variable, value, given, findings);
  return given;
}

/** What to make of a variable that is no setting. */
function judge(variable: string, value: string, given: Map<string, Given>, { warnings }: Findings): void {
  if (variable === unprefixed && !given.has("deployment-network-policies-enabled")) {
    const right = `AP_${unprefixed}=${value}`;
    warnings.push(`${unprefixed} has no effect, since it lacks the prefix; write ${right} if you mean it.`);
  }
  const prefix = prefixes.find((each) => variable.startsWith(each));
  if (prefix === undefined || variables.has(variable)) return;
  const name = variable.slice(prefix.length);
  if (name === misnomer) {
    if (!given.has(misnamed)) given.set(misnamed, givenAt(`environment ${variable}`, misnamed, value));
    warnings.push(`${variable} is the wrong name for ${prefix}${variableOf(misnamed)}; it was taken for that.`);
    return;
  }
  const why = ineffective.get(name);
  if (why !== undefined) {
    warnings.push(`${variable} has no effect: ${why}.`);
  } else if (!isFamiliar(prefix, name) && !nodeSections.test(name)) {
    const names = [...variables.keys()].filter((each) => each.startsWith(prefix));
    const similar = nearest(variable, names);
    const hint = similar === undefined ? "" : ` Did you mean ${similar}?`;
    warnings.push(`${variable} has no effect: it is not a setting of this program.${hint}`);
  }
}

/** Set by charts and manifests for the Go provider, which does not read them. Names are without their prefix. */
const ineffective: ReadonlyMap<string, string> = new Map([
  ...["WEBHOOK_ENABLED", "WEBHOOK_PORT", "SIDECAR_IMAGE"].map(
    (name) => [`ATTESTATION_${name}`, "attestation of trusted hardware is not supported by this provider yet"] as const,
  ),
  ...["CPU", "MEMORY", "STORAGE"].map(
    (name) => [`BID_PRICE_${name}`, `the price is AP_BID_PRICE_${name}_SCALE`] as const,
  ),
  ...["CPU_DENOM", "MEMORY_DENOM", "ENDPOINT_DENOM", "IP_DENOM", "STORAGE_DENOMS"].map(
    (name) => [`BID_DEPOSIT_${name}`, "the denom is part of AP_BID_DEPOSIT"] as const,
  ),
  ["BALANCES_PERIOD", "the period is AP_LEASE_FUNDS_MONITOR_INTERVAL"],
  ["CLUSTER_STORAGE", "storage classes are set in the inventory operator's configuration"],
  ["DEPLOYMENT_INGRESS_DOMAIN_CONFIG_SECRET_NAME", "no provider has ever read it"],
  ["RESOURCE_DEFINITION", "no provider has ever read it"],
  ["INGRESS_DOMAIN", "the domain is AP_DEPLOYMENT_INGRESS_DOMAIN"],
  ["INGRESS_STATIC_HOSTS", "the switch is AP_DEPLOYMENT_INGRESS_STATIC_HOSTS"],
]);

/** Used by the charts' scripts, the tenants' tools and their tutorials, and the chain's node. They say nothing to us. */
const familiar: ReadonlySet<string> = new Set([
  ..."BOOT_DATA BOOT_KEYS DEBUG DEBUG_DELVE_PORT META_URL VERSION".split(" "),
  ..."ACCOUNT_ADDRESS DEPOSIT KEY_NAME NET".split(" "),
  ..."DENOM DEPLOYMENT_SEQUENCE GROUP_SEQUENCE ORDER_SEQUENCE".split(" "),
  ..."GRPC_ADDR GRPC_ADDRESS GRPC_INSECURE MINIMUM_GAS_PRICES MONIKER PRUNING".split(" "),
]);

/** Flags of the commands of a tenant, which read them by themselves. */
const ofTenants: ReadonlySet<string> = new Set(
  "AUTH_TYPE DSEQ GSEQ OFFLINE OSEQ OUTPUT OWNER PROVIDER PROVIDER_URL SERVICE".split(" "),
);

/** Sections of the configuration of the chain's node. */
const nodeSections =
  /^(API|CONSENSUS|FASTSYNC|GRPC|GRPC_WEB|HALT|IAVL|INSTRUMENTATION|MEMPOOL|P2P|PRIV_VALIDATOR|PROF|PRUNING|ROSETTA|RPC|STATESYNC|STATE_SYNC|STORAGE|STORE|TELEMETRY|TX_INDEX)_/;

/** With the prefix AKASH_; and one of them the chart sets with AP_. Tenants may use either. */
function isFamiliar(prefix: string, name: string): boolean {
  return ofTenants.has(name) || (familiar.has(name) && (prefix === "AKASH_" || name === "MINIMUM_GAS_PRICES"));
}

/** Kubernetes sets AKASH_PROVIDER_SERVICE_HOST, AKASH_PROVIDER_PORT=tcp://… and the like for a Service akash-provider. */
function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/.test(variable) ||
    /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))
  );
}
