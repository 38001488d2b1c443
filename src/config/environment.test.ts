import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { showDecimal } from "../market/decimal.ts";
import type { Environment } from "./environment.ts";
import { loadConfig } from "./load.ts";

function load(env: Environment, files: Record<string, string> = {}) {
  return loadConfig({
    flags: {},
    env: { HOME: "/root", ...env },
    readFile: (path) => files[path] ?? assert.fail(`${path} was read`),
  });
}

/** In shape what the network's chart hands the provider's container: its own settings, and those of its scripts. */
const chartEnvironment = {
  AKASH_DEBUG: "false",
  AKASH_BOOT_KEYS: "/boot-keys",
  AKASH_HOME: "/root/.akash",
  AKASH_FROM: "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr",
  AKASH_NODE: "http://akash-node-1:26657",
  AKASH_CHAIN_ID: "akashnet-2",
  AKASH_KEYRING_BACKEND: "test",
  AKASH_BROADCAST_MODE: "block",
  AKASH_VERSION: "0.16.2",
  AKASH_YES: "true",
  AP_YES: "true",
  AKASH_LOG_LEVEL: "info",
  AKASH_IP_OPERATOR: "false",
  AKASH_DEPLOYMENT_INGRESS_DOMAIN: "ingress.example.com",
  DEPLOYMENT_NETWORK_POLICIES_ENABLED: "false",
  AKASH_DEPLOYMENT_INGRESS_STATIC_HOSTS: "true",
  AKASH_DEPLOYMENT_BLOCKED_HOSTNAMES: "",
  AKASH_CLUSTER_NODE_PORT_QUANTITY: "2500",
  AKASH_GAS_PRICES: "0.025uakt",
  AKASH_GAS: "auto",
  AKASH_GAS_ADJUSTMENT: "1.5",
  AP_MINIMUM_GAS_PRICES: "0.0025uakt",
  AKASH_CLUSTER_PUBLIC_HOSTNAME: "provider.example.com",
  AKASH_BID_PRICE_STRATEGY: "shellScript",
  AKASH_BID_PRICE_SCRIPT_PATH: "/scripts/price_script.sh",
  WHITELIST_URL: "https://example.com/list",
  PRICE_TARGET_CPU: "1.60",
  AKASH_BID_PRICE_CPU_SCALE: "0.004",
  AKASH_BID_PRICE_MEMORY_SCALE: "0.0016",
  AKASH_BID_PRICE_ENDPOINT_SCALE: "1",
  AKASH_BID_PRICE_STORAGE_SCALE: "0.00016,beta2=0.00016",
  AKASH_BID_PRICE_IP_SCALE: "60",
  AKASH_OVERCOMMIT_PCT_CPU: "0",
  AKASH_OVERCOMMIT_PCT_MEM: "0",
  AKASH_OVERCOMMIT_PCT_STORAGE: "0",
  AKASH_CLUSTER_K8S: "true",
  KUBE_CONFIG: "/root/.akash/.kube/config",
  AKASH_DEPLOYMENT_RUNTIME_CLASS: "none",
  AKASH_WITHDRAWAL_PERIOD: "1h",
  AKASH_RECLAMATION_WINDOW: "24h",
  AKASH_MINIMUM_BALANCE: "10000000",
  AKASH_BID_DEPOSIT: "500000uakt",
  AKASH_TX_BROADCAST_TIMEOUT: "60s",
  AKASH_MONITOR_MAX_RETRIES: "2304",
  AKASH_MONITOR_RETRY_PERIOD: "30s",
  AKASH_MONITOR_RETRY_PERIOD_JITTER: "15s",
  AKASH_MONITOR_HEALTHCHECK_PERIOD: "10s",
  AKASH_MONITOR_HEALTHCHECK_PERIOD_JITTER: "5s",
  CF_DNS_API_TOKEN: "token",
  AP_CERT_ISSUER_ENABLED: "true",
  AP_CERT_ISSUER_EMAIL: "me@example.com",
  AP_CERT_ISSUER_CA_DIR_URL: "https://acme-v02.api.letsencrypt.org/directory",
  AP_CERT_ISSUER_HTTP_CHALLENGE_PORT: "5002",
  AP_CERT_ISSUER_DNS_PROVIDERS: "cloudflare",
  AP_INGRESS_MODE: "gateway-api",
  AP_GATEWAY_NAME: "akash-gateway",
  AP_GATEWAY_NAMESPACE: "akash-gateway",
  AP_GATEWAY_IMPLEMENTATION: "nginx",
  AKASH_ATTESTATION_WEBHOOK_ENABLED: "true",
  AKASH_ATTESTATION_SIDECAR_IMAGE: "registry.example/attestation-sidecar:0.16.2",
  AKASH_ATTESTATION_WEBHOOK_PORT: "9443",
  AKASH_BID_TIMEOUT: "5m",
  AKASH_MANIFEST_TIMEOUT: "5m",
  AKASH_LEASE_FUNDS_MONITOR_INTERVAL: "10m",
  AKASH_BALANCES_PERIOD: "5s",
  AKASH_QUERY_TIMEOUT: "30s",
  AKASH_BID_PRICE_CPU: "1",
  AKASH_CLUSTER_STORAGE: "beta2",
  AKASH_AUTH_PEM: "/config/provider.pem",
  AKASH_BID_DEPOSIT_STORAGE_DENOMS: "uakt",
  AKASH_RESOURCE_DEFINITION: "x",
  AKASH_PROVIDER_SERVICE_HOST: "10.43.0.17",
  AKASH_PROVIDER_SERVICE_PORT: "8443",
  AKASH_PROVIDER_SERVICE_PORT_API: "8443",
  AKASH_PROVIDER_PORT: "tcp://10.43.0.17:8443",
  AKASH_PROVIDER_PORT_8443_TCP: "tcp://10.43.0.17:8443",
  AKASH_PROVIDER_PORT_8443_TCP_ADDR: "10.43.0.17",
  AKASH_PROVIDER_PORT_8443_TCP_PROTO: "tcp",
};

test("the environment of a provider that the network's chart runs is taken as it is", () => {
  const { values, sources } = load(chartEnvironment);
  assert.equal(values.withdrawalPeriodMs, 3_600_000);
  assert.equal(values.monitorMaxRetries, 2_304);
  assert.equal(values.clusterK8s, true);
  assert.equal(values.deploymentIngressDomain, "ingress.example.com");
  assert.equal(values.deploymentNetworkPoliciesEnabled, true);
  assert.equal(values.gatewayProvider, "nginx");
  assert.deepEqual(values.certIssuerDnsProviders, ["cf"]);
  assert.equal(sources.gatewayProvider, "environment AP_GATEWAY_IMPLEMENTATION");
  assert.equal(sources.nodes, "environment AKASH_NODE");
});

test("of the chart's variables those without effect get a warning, and only those", () => {
  const { warnings } = load(chartEnvironment);
  const names = warnings.map((warning) => /[A-Z]+_[A-Z_]+|^--[a-z-]+/.exec(warning)?.[0]).sort();
  assert.deepEqual(names, [
    "--cert-issuer-dns-providers",
    "AKASH_ATTESTATION_SIDECAR_IMAGE",
    "AKASH_ATTESTATION_WEBHOOK_ENABLED",
    "AKASH_ATTESTATION_WEBHOOK_PORT",
    "AKASH_AUTH_PEM",
    "AKASH_BALANCES_PERIOD",
    "AKASH_BID_DEPOSIT_STORAGE_DENOMS",
    "AKASH_BID_PRICE_CPU",
    "AKASH_BROADCAST_MODE",
    "AKASH_CLUSTER_NODE_PORT_QUANTITY",
    "AKASH_CLUSTER_STORAGE",
    "AKASH_MONITOR_HEALTHCHECK_PERIOD",
    "AKASH_MONITOR_HEALTHCHECK_PERIOD_JITTER",
    "AKASH_QUERY_TIMEOUT",
    "AKASH_RESOURCE_DEFINITION",
    "AKASH_TX_BROADCAST_TIMEOUT",
    "AP_GATEWAY_IMPLEMENTATION",
    "DEPLOYMENT_NETWORK_POLICIES_ENABLED",
  ]);
});

test("the environments of the operators that the network's charts run are taken without a word", () => {
  const lists = {
    AP_K8S_MANIFEST_NS: "lease",
    AP_PRUNE_INTERVAL: "600s",
    AP_IGNORE_LIST_ENTRY_LIMIT: "131072",
    AP_WEB_REFRESH_INTERVAL: "5s",
    AP_RETRY_DELAY: "3s",
    AP_IGNORE_LIST_AGE_LIMIT: "2613600s",
    AP_EVENT_FAILURE_LIMIT: "3",
    AP_POD_NAME: "operator-ip-6d4b75cb6d-hw2pz",
    AP_POD_NAMESPACE: "akash-services",
    AP_PROVIDER: "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr",
  };
  const { values, warnings } = load({ ...lists, AP_CONFIG: "/akash/config.yaml" });
  assert.deepEqual(warnings, []);
  assert.equal(values.ignoreListAgeLimitMs, 726 * 3_600_000);
  assert.equal(values.inventoryConfig, "/akash/config.yaml");
});

test("the IP operator does not start with the account of the example in deploy/operator-ip.yaml", () => {
  const yaml = readFileSync(new URL("../../deploy/operator-ip.yaml", import.meta.url), "utf8");
  const [, example = ""] = /name: AP_PROVIDER\n\s+value: (\S+)/.exec(yaml) ?? [];
  assert.throws(() => load({ AP_PROVIDER: example }), /AP_PROVIDER/);
});

test("AP_ wins over AKASH_, and an empty variable is as good as none", () => {
  assert.equal(
    load({ AP_BID_TIMEOUT: "1m", AKASH_BID_TIMEOUT: "2m" }).sources.bidTimeoutMs,
    "environment AP_BID_TIMEOUT",
  );
  assert.equal(load({ AP_BID_TIMEOUT: "", AKASH_BID_TIMEOUT: "2m" }).values.bidTimeoutMs, 120_000);
  assert.equal(load({ AP_BID_TIMEOUT: "", AKASH_BID_TIMEOUT: "" }).sources.bidTimeoutMs, "default");
});

test("KUBECONFIG is read after the names with our prefixes", () => {
  assert.equal(load({ KUBECONFIG: "/kube" }).sources.kubeconfig, "environment KUBECONFIG");
  assert.equal(load({ KUBECONFIG: "/kube", AKASH_KUBECONFIG: "/other" }).values.kubeconfig, "/other");
});

test("the right name wins over the chart's wrong one", () => {
  assert.equal(
    load({ AP_GATEWAY_IMPLEMENTATION: "x", AKASH_GATEWAY_PROVIDER: "traefik" }).values.gatewayProvider,
    "traefik",
  );
});

test("the gateway's certificate works with both prefixes", () => {
  const { values } = load({ AP_GATEWAY_TLS_CERT: "/tls/crt", AKASH_GATEWAY_TLS_KEY: "/tls/key" });
  assert.deepEqual([values.gatewayTlsCert, values.gatewayTlsKey], ["/tls/crt", "/tls/key"]);
});

test("an unknown variable is a warning that suggests the most similar setting", () => {
  const { values, warnings } = load({
    AP_BID_TIMOUT: "7m",
    AKASH_WITHDRAWL_PERIOD: "1h",
    AP_HOME_DIR: "/root",
    AP_SOMETHING_ELSE: "5m",
  });
  assert.equal(values.bidTimeoutMs, 300_000);
  assert.deepEqual(warnings, [
    "AP_BID_TIMOUT has no effect: it is not a setting of this program. Did you mean AP_BID_TIMEOUT?",
    "AKASH_WITHDRAWL_PERIOD has no effect: it is not a setting of this program. Did you mean AKASH_WITHDRAWAL_PERIOD?",
    "AP_HOME_DIR has no effect: it is not a setting of this program. Did you mean AP_HOME?",
    "AP_SOMETHING_ELSE has no effect: it is not a setting of this program.",
  ]);
});

test("what the commands of a tenant read by themselves draws no warning, with either prefix", () => {
  const { warnings } = load({ AP_DSEQ: "7", AKASH_DSEQ: "7", AP_GSEQ: "1", AP_AUTH_TYPE: "mtls" });
  assert.deepEqual(warnings, []);
});

test("the chart's switch without a prefix is not mentioned once the right one is set", () => {
  const env = { DEPLOYMENT_NETWORK_POLICIES_ENABLED: "false", AP_DEPLOYMENT_NETWORK_POLICIES_ENABLED: "false" };
  const { values, warnings } = load(env);
  assert.deepEqual([values.deploymentNetworkPoliciesEnabled, warnings], [false, []]);
});

test("variables of the chain's node and of the tenants' tools are left alone", () => {
  const names = `MONIKER P2P_LADDR P2P_PERSISTENT_PEERS P2P_PEX P2P_SEED_MODE RPC_LADDR RPC_UNSAFE RPC_GRPC_LADDR PRUNING
    PRUNING_KEEP_RECENT MINIMUM_GAS_PRICES STATESYNC_ENABLE STATESYNC_RPC_SERVERS STATE_SYNC_SNAPSHOT_INTERVAL HALT_HEIGHT
    IAVL_DISABLE_FASTNODE GRPC_ADDRESS API_ENABLE ROSETTA_ENABLE MEMPOOL_SIZE TX_INDEX_INDEXER PRIV_VALIDATOR_KEY_FILE
    PROF_LADDR NET KEY_NAME ACCOUNT_ADDRESS OWNER DSEQ GSEQ OSEQ META_URL BOOT_DATA DENOM`;
  const env = Object.fromEntries(names.split(/\s+/).map((name) => [`AKASH_${name}`, "x"]));
  assert.deepEqual(load(env).warnings, []);
});

test("what Kubernetes says about its services is no setting, even where the name is one", () => {
  const { values, warnings } = load({
    AP_REST_PORT: "tcp://10.43.0.17:80",
    AP_REST_SERVICE_HOST: "10.43.0.17",
    AP_REST_PORT_80_TCP_PORT: "80",
  });
  assert.deepEqual([values.restPort, warnings.length], [8_080, 0]);
});

test("a secret can be in a file, whose last newline does not count", () => {
  const files = { "/run/password": "pass word \n" };
  const { values, sources } = load({ AP_REDIS_PASSWORD_FILE: "/run/password", AKASH_REDIS_PASSWORD: "other" }, files);
  assert.equal(values.redisPassword, "pass word ");
  assert.equal(sources.redisPassword, "environment AP_REDIS_PASSWORD_FILE");
});

test("only secrets can be in a file of their own", () => {
  const { values, warnings } = load({ AP_CHAIN_ID_FILE: "/run/chain" }, { "/run/chain": "akashnet-2" });
  assert.equal(values.chainId, undefined);
  assert.match(warnings[0] ?? "", /^AP_CHAIN_ID_FILE has no effect/);
});

test("dollars a month are read under the names of the network's price script, and ours go before", () => {
  const dollars = { CPU: "1.1", MEMORY: "1.2", HD_EPHEMERAL: "1.3", HD_PERS_HDD: "1.4", HD_PERS_SSD: "1.5" };
  const more = { HD_PERS_NVME: "1.6", ENDPOINT: "1.7", IP: "1.8" };
  const env = Object.entries({ ...dollars, ...more }).map(([name, value]) => [`PRICE_TARGET_${name}`, value]);
  const mappings = "a100=120,h100.80Gi.sxm=300,*=100";
  const { values, warnings } = load({
    ...Object.fromEntries(env),
    PRICE_TARGET_GPU_MAPPINGS: mappings,
    AP_PRICE_TARGET_IP: "9",
  });
  assert.deepEqual(warnings, []);
  const { priceTargetCpu, priceTargetMemory, priceTargetEphemeral, priceTargetHdd, priceTargetSsd } = values;
  const { priceTargetNvme, priceTargetEndpoint, priceTargetIp, priceTargetGpuMappings } = values;
  assert.deepEqual(
    [priceTargetCpu, priceTargetMemory, priceTargetEphemeral, priceTargetHdd, priceTargetSsd, priceTargetNvme].map(
      showDecimal,
    ),
    ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6"],
  );
  assert.deepEqual([priceTargetEndpoint, priceTargetIp].map(showDecimal), ["1.7", "9"]);
  assert.deepEqual([...priceTargetGpuMappings.keys()], ["a100", "h100.80Gi.sxm", "*"]);
});
