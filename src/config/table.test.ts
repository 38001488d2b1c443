import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadConfig } from "./load.ts";
import { programs, type Setting } from "./setting.ts";
import { groups, liveSettings, settingsByFlag, settingsByKey, variableOf } from "./table.ts";

const all: [string, Setting][] = groups.flatMap(({ settings, inert }) => [
  ...Object.entries(settings),
  ...inert.map((setting): [string, Setting] => [setting.flag, setting]),
]);

test("every setting says in one sentence what it is for, or why it does nothing", () => {
  for (const [name, setting] of all) {
    if (setting.type === "live") assert.match(setting.doc, /^[A-Z`].*\.$/, name);
    else assert.match(setting.why, /[^.]$/, name);
    assert.ok(setting.usedBy.length > 0 && setting.usedBy.every((program) => programs.includes(program)), name);
  }
});

test("every setting can be given in some way, and no two in the same", () => {
  for (const [name, { flag, ...setting }] of all) assert.ok(flag ?? ("key" in setting && setting.key), name);
  const flags = all.flatMap(([, { flag }]) => (flag === undefined ? [] : [flag]));
  assert.equal(new Set(flags.map(variableOf)).size, flags.length);
  assert.equal(settingsByFlag.size, flags.length);
  assert.equal(new Set(all.map(([name]) => name)).size, all.length);
});

test("no setting is read by nothing", () => {
  const src = join(import.meta.dirname, "..");
  const readers = globSync(["{cli,config}/*.ts", "bidengine/pricing/*.ts"], { cwd: src }).filter(
    (path) => !path.endsWith("test.ts"),
  );
  const words = new Set(readers.flatMap((path) => readFileSync(join(src, path), "utf8").split(/[^\w-]+/)));
  assert.deepEqual(
    liveSettings.filter(([name, { flag }]) => !words.has(name) && !words.has(flag ?? "")).map(([name]) => name),
    [],
  );
});

test("every default is a value of its setting, and is shown as something that reads the same", () => {
  const { values, sources } = loadConfig({ flags: {}, env: { HOME: "/home/me" }, readFile: assert.fail });
  for (const [name, { format, default: fallback }] of liveSettings) {
    assert.equal(sources[name], "default");
    assert.equal(values[name] === undefined, fallback === undefined, name);
    if (values[name] !== undefined && "read" in format) {
      assert.deepEqual(format.schema.parse(format.show(values[name])), values[name], name);
    }
  }
});

test("provider.yaml has the keys that the network and its documents know, and every price", () => {
  assert.deepEqual([...settingsByKey.keys()].sort(), [
    "attributes",
    "bidpricecpuscale",
    "bidpriceendpointscale",
    "bidpricegpuscale",
    "bidpriceipscale",
    "bidpricememoryscale",
    "bidpricestoragescale",
    "bidpricestrategy",
    "deployment_ingress_domain",
    "deployment_ingress_static_hosts",
    "host",
    "info",
    "price_target_cpu",
    "price_target_endpoint",
    "price_target_gpu_mappings",
    "price_target_hd_ephemeral",
    "price_target_hd_pers_hdd",
    "price_target_hd_pers_nvme",
    "price_target_hd_pers_ssd",
    "price_target_ip",
    "price_target_memory",
  ]);
});

test("every setting of the Go provider's run command is known", () => {
  const flags = `home node chain-id from keyring-backend keyring-dir gas gas-adjustment gas-prices fees broadcast-mode fee-granter
    fee-payer sign-mode yes ledger account-number sequence note timeout-height timeout-duration unordered tip aux dry-run
    generate-only offline output cluster-k8s k8s-manifest-ns gateway-listen-address gateway-grpc-listen-address
    bid-price-strategy bid-price-cpu-scale bid-price-memory-scale bid-price-storage-scale bid-price-endpoint-scale
    bid-price-ip-scale bid-price-script-path bid-price-script-process-limit bid-price-script-process-timeout bid-deposit
    cluster-public-hostname cluster-node-port-quantity cluster-wait-ready-duration inventory-resource-poll-period
    inventory-resource-debug-frequency deployment-ingress-static-hosts deployment-ingress-domain
    deployment-ingress-expose-lb-hosts deployment-network-policies-enabled docker-image-pull-secrets-name overcommit-pct-mem
    overcommit-pct-cpu overcommit-pct-storage deployment-blocked-hostnames auth-pem kubeconfig deployment-runtime-class
    bid-timeout reclamation-window manifest-timeout metrics-listener withdrawal-period lease-funds-monitor-interval
    minimum-balance provider-config rpc-query-timeout cached-result-max-age ip-operator tx-broadcast-timeout
    monitor-max-retries monitor-retry-period monitor-retry-period-jitter monitor-healthcheck-period
    monitor-healthcheck-period-jitter persistent-config-backend persistent-config-path hostname-operator-endpoint
    ip-operator-endpoint gateway-tls-cert gateway-tls-key cert-issuer-enabled cert-issuer-email cert-issuer-kid
    cert-issuer-hmac cert-issuer-ca-dir-url cert-issuer-storage-dir cert-issuer-http-challenge-port
    cert-issuer-tls-challenge-port cert-issuer-dns-providers cert-issuer-dns-resolvers migrations-enabled
    migrations-state-path ingress-mode gateway-name gateway-namespace gateway-provider proxy-buffer-size log_level
    log_format log_color log_timestamp trace`;
  for (const flag of flags.split(/\s+/)) assert.ok(settingsByFlag.get(flag)?.usedBy.includes("run"), flag);
});

test("every setting of the operators is known", () => {
  const flags = `rest-port grpc-port rest-address kubeconfig k8s-manifest-ns prune-interval web-refresh-interval retry-delay
    ignore-list-entry-limit ignore-list-age-limit event-failure-limit ingress-mode gateway-name gateway-namespace
    gateway-provider proxy-buffer-size provider metal-lb-endpoint metal-lb-pool api-timeout query-timeout config
    registry-query-period discovery-image pod-namespace pod-name provider-configs-url provider-pcidb-url api-port`;
  for (const flag of flags.split(/\s+/)) {
    assert.ok(
      settingsByFlag.get(flag)?.usedBy.some((program) => program !== "run"),
      flag,
    );
  }
});
