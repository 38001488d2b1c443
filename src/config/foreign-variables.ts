/**
 * Variables that begin with AP_ or AKASH_ and are no settings. The names are listed without their prefix. AKASH_ is
 * shared with the chain's node, the tenants' tools and the charts' scripts; Kubernetes adds names for its services.
 */

/** Set by charts and manifests for the Go provider, which does not read them: worth a word, so that nobody relies on them. */
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

export function whyIneffective(name: string): string | undefined {
  return ineffective.get(name);
}

/** With the prefix AKASH_; and one of them the chart sets with AP_. Tenants may use either. */
export function isFamiliar(prefix: string, name: string): boolean {
  return ofTenants.has(name) || (familiar.has(name) && (prefix === "AKASH_" || name === "MINIMUM_GAS_PRICES"));
}

export function isOfTheNode(name: string): boolean {
  return nodeSections.test(name);
}

/**
 * Kubernetes tells every pod about the services of its namespace. A Service akash-provider becomes
 * AKASH_PROVIDER_SERVICE_HOST, AKASH_PROVIDER_PORT=tcp://… and AKASH_PROVIDER_PORT_8443_TCP_ADDR.
 */
export function isServiceLink(variable: string, value: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/.test(variable) ||
    /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable) ||
    (variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value))
  );
}
