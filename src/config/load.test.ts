import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Environment } from "./environment.ts";
import { type Flags, loadConfig, printConfig, printConfigAsJson } from "./load.ts";
import { checkPricing } from "./resolve.ts";
import { type Config, groups, liveSettings, type SettingName, settingsByFlag, variableOf } from "./table.ts";

function load(flags: Flags, env: Environment = {}, files: Record<string, string> = {}) {
  return loadConfig({
    flags,
    env: { HOME: "/root", ...env },
    readFile: (path) => files[path] ?? raise(Object.assign(new Error(`ENOENT: no such file, open '${path}'`))),
  });
}

function raise(error: Error): never {
  throw error;
}

function refusal(flags: Flags, env: Environment = {}, files: Record<string, string> = {}): ProviderError {
  try {
    load(flags, env, files);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  return assert.fail("it was not refused");
}

test("flag wins over environment, AP_ over AKASH_, environment over file, file over default", () => {
  const name: SettingName = "bidPriceCpuScale";
  const price = fc.option(fc.nat({ max: 1_000_000 }), { nil: undefined });
  fc.assert(
    fc.property(price, price, price, price, (flag, ap, akash, file) => {
      const { values, sources } = load(
        { "provider-config": "p.yaml", ...(flag === undefined ? {} : { "bid-price-cpu-scale": String(flag) }) },
        { AP_BID_PRICE_CPU_SCALE: ap?.toString(), AKASH_BID_PRICE_CPU_SCALE: akash?.toString() },
        { "p.yaml": file === undefined ? "" : `\nbidpricecpuscale: ${file}\n` },
      );
      assert.equal(values[name].general?.atto, BigInt(flag ?? ap ?? akash ?? file ?? 0) * 10n ** 18n);
      const from = [
        [flag, "flag --bid-price-cpu-scale"],
        [ap, "environment AP_BID_PRICE_CPU_SCALE"],
        [akash, "environment AKASH_BID_PRICE_CPU_SCALE"],
        [file, "p.yaml:2"],
        [0, "default"],
      ] as const;
      assert.equal(sources[name], from.find(([given]) => given !== undefined)?.[1]);
    }),
    { numRuns: runs(60, 2_000) },
  );
});

test("any combination of settings, each in any place, gives each its own value", () => {
  // Settings that no rule holds against another one, with a text that is not the default.
  const independent: [SettingName, string, unknown][] = [
    ["bidTimeoutMs", "7m", 420_000],
    ["clusterK8s", "true", true],
    ["restPort", "9000", 9_000],
    ["gatewayName", "other", "other"],
    ["overcommitCpuPercent", "50", 50],
    ["chainId", "sandbox-2", "sandbox-2"],
    ["keyringDir", "/keys", "/keys"],
  ];
  const places = fc.array(fc.constantFrom("nowhere", "flag", "AP_", "AKASH_"), {
    minLength: independent.length,
    maxLength: independent.length,
  });
  const defaults = load({}).values;
  fc.assert(
    fc.property(places, (chosen) => {
      const flags: Record<string, string> = {};
      const env: Record<string, string> = {};
      independent.forEach(([name, text], index) => {
        const flag = liveSettings.find(([each]) => each === name)?.[1].flag ?? assert.fail(name);
        if (chosen[index] === "flag") flags[flag] = text;
        else if (chosen[index] !== "nowhere") env[`${chosen[index]}${variableOf(flag)}`] = text;
      });
      const { values } = load(flags, env);
      independent.forEach(([name, , value], index) => {
        assert.equal(values[name], chosen[index] === "nowhere" ? defaults[name] : value, name);
      });
    }),
    { numRuns: runs(50, 2_000) },
  );
});

test("in a list of paths, ~ and $HOME are replaced in each", () => {
  const files = "~/a.pem, ~/b.pem,$HOME/c.pem,-";
  const node = "http://a,http://b,http://c,http://d";
  const { values } = load({ node, "node-ca": files });
  assert.deepEqual(values.nodeCaFiles, ["/root/a.pem", "/root/b.pem", "/root/c.pem", "-"]);
});

test("paths below --home follow it, and ~ and $HOME are replaced", () => {
  const { values } = load({ home: "~/akash", "keyring-dir": "$HOME/keys" }, { AP_KUBECONFIG: `\${HOME}/kube` });
  assert.equal(values.home, "/root/akash");
  assert.equal(values.dataDir, "/root/akash/provider");
  assert.equal(values.certIssuerStorageDir, "/root/akash/.certissuer");
  assert.equal(values.keyringDir, "/root/keys");
  assert.equal(values.kubeconfig, "/root/kube");
});

test("a flag without a value is on, a repeated one is a list, an empty one takes back", () => {
  const { values, sources } = load(
    { "cluster-k8s": true, "deployment-blocked-hostnames": ["a.com,b.com", "c.com"], "metrics-listener": "" },
    { AP_METRICS_LISTENER: ":9090" },
  );
  assert.equal(values.clusterK8s, true);
  assert.deepEqual(values.deploymentBlockedHostnames, ["a.com", "b.com", "c.com"]);
  assert.equal(values.metricsListener, undefined);
  assert.equal(sources.metricsListener, "flag --metrics-listener");
  assert.equal(refusal({ "gateway-name": "" }).message, 'flag --gateway-name: gateway-name cannot be "": it is empty');
});

test("the bus is Redis as soon as it is said where Redis is", () => {
  assert.equal(load({}).values.bus, "memory");
  assert.equal(load({ "redis-url": "redis://host" }).values.bus, "redis");
  assert.equal(load({}, { AP_REDIS_SENTINELS: "a:1,b:2" }).values.bus, "redis");
  assert.equal(load({ "redis-url": "" }, { AP_REDIS_URL: "redis://host" }).values.bus, "memory");
  assert.match(refusal({ bus: "redis" }).advice, /--redis-url or --redis-sentinels/);
  const { values, warnings } = load({ bus: "memory", "redis-url": "redis://host" });
  assert.equal(values.bus, "memory");
  assert.equal(warnings.length, 1);
});

test("a time without a unit is rejected with the units it could have", () => {
  const error = refusal({ "bid-timeout": "5" });
  assert.equal(error.code, "AKP_SETTING_INVALID");
  assert.equal(error.message, 'flag --bid-timeout: bid-timeout cannot be "5": it has no unit');
  assert.match(error.advice, /Write 5s for seconds, 5m for minutes/);
});

test("several faults are told together, with where each one is", () => {
  const files = { "p.yaml": "\nbidpricecpuscal: 1\n" };
  const error = refusal({ gas: "much", "provider-config": "p.yaml" }, { AKASH_BID_DEPOSIT: "5" }, files);
  assert.equal(error.code, "AKP_SETTINGS_REFUSED");
  for (const part of [
    "3 settings",
    "flag --gas:",
    "environment AKASH_BID_DEPOSIT:",
    "p.yaml:2:1: there is no setting bidpricecpuscal",
  ]) {
    assert.ok(error.message.includes(part), part);
  }
});

test("a command that needs the data directory only is not stopped by other settings, whatever is wrong with them", () => {
  const { values, warnings } = loadConfig({
    flags: {},
    env: { HOME: "/root", AP_DATA_DIR: "/data", AP_GAS: "much", AP_CLUSTER_K8S: "no", AP_KEY_PASSPHRASE_FILE: "/none" },
    readFile: (path) => raise(new Error(`${path} was read`)),
    program: "ask",
  });
  assert.deepEqual([values.dataDir, warnings], ["/data", []]);
});

test("a command that needs the data directory only takes the default where another of its settings is wrong, and warns", () => {
  const { values, sources, warnings } = loadConfig({
    flags: {},
    env: { HOME: "/root", AP_DATA_DIR: "/data", AP_TRACE: "maybe" },
    readFile: (path) => raise(new Error(`${path} was read`)),
    program: "ask",
  });
  assert.deepEqual([values.dataDir, values.trace, sources.trace], ["/data", false, "default"]);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^environment AP_TRACE: trace cannot be "maybe": .*the default is used/);
  assert.throws(() => loadConfig({ flags: { "data-dir": "" }, env: {}, readFile: String, program: "ask" }));
});

test("a flag that does not exist is rejected with the nearest one", () => {
  assert.equal(refusal({ "bid-timout": "5m" }).advice, "Did you mean --bid-timeout?");
});

test("a file that cannot be read is rejected with its path and who named it", () => {
  const error = refusal({}, { AKASH_PROVIDER_CONFIG: "/etc/none.yaml", AP_REDIS_PASSWORD_FILE: "/run/none" });
  for (const part of [
    "environment AKASH_PROVIDER_CONFIG: /etc/none.yaml",
    "environment AP_REDIS_PASSWORD_FILE: /run/none",
  ]) {
    assert.ok(error.message.includes(`${part} cannot be read: ENOENT`), part);
  }
});

test("every dead setting is taken with a warning that says why, whatever its value", () => {
  for (const setting of settingsByFlag.values()) {
    if (setting.type !== "dead") continue;
    const { flag, why } = setting;
    for (const { warnings } of [
      load({ [flag]: "anything" }),
      load({}, { [`AKASH_${variableOf(flag)}`]: "anything" }),
    ]) {
      assert.equal(warnings.length, 1, flag);
      assert.ok(warnings[0]?.endsWith(` has no effect: ${why}.`), flag);
    }
    if (setting.harmless !== undefined) assert.deepEqual(load({ [flag]: setting.harmless }).warnings, [], flag);
  }
});

test("a setting with only one sensible value is rejected with any other", () => {
  for (const setting of settingsByFlag.values()) {
    if (setting.type !== "fixed") continue;
    assert.deepEqual(load({ [setting.flag]: setting.only }).warnings, [], setting.flag);
    assert.ok(refusal({ [setting.flag]: "true" }).message.endsWith(setting.why), setting.flag);
  }
  assert.doesNotThrow(() => load({}, { AKASH_DRY_RUN: "0" }));
});

test("settings that contradict each other are rejected with the one to blame", () => {
  const issuer = {
    "cert-issuer-enabled": true,
    "cert-issuer-email": "a@b.c",
    "cluster-public-hostname": "p.example.com",
  };
  const cases: [Flags, RegExp][] = [
    [{ "withdrawal-period": "5m" }, /--withdrawal-period.*shorter than lease-funds-monitor-interval, which is 10m/],
    [{ "deployment-ingress-static-hosts": true }, /no domain/],
    [{ "bid-price-strategy": "shellScript" }, /no script/],
    [{ "token-price-url": "https://a.example.com", "token-price-file": "/a" }, /comes from one place/],
    [{ "token-price-oracle": "true", "token-price-file": "/a" }, /comes from one place/],
    [{ fees: "5000uakt", "gas-prices": "0.025uakt" }, /exclude each other/],
    [{ "gateway-tls-cert": "/crt" }, /needs its key/],
    [{ "gateway-tls-key": "/key" }, /needs its certificate/],
    [{ "cert-issuer-enabled": true, "cert-issuer-email": "a@b.c" }, /for a name/],
    [{ ...issuer, "cluster-public-hostname": "192.0.2.1" }, /is an address/],
    [{ ...issuer, "cert-issuer-dns-providers": "cf" }, /does not answer dns-01 challenges/],
    [{ ...issuer, "cert-issuer-kid": "1" }, /belong together/],
    [{ ...issuer, "cert-issuer-email": "../../a@b.c" }, /it has another shape/],
  ];
  for (const [flags, message] of cases) assert.match(refusal(flags).message, message);
  assert.doesNotThrow(() => load({ "withdrawal-period": "0" }));
  assert.doesNotThrow(() => load({ fees: "5000uakt" }));
});

test("settings have the bounds that the Go provider gives them", () => {
  for (const flags of [
    { "lease-funds-monitor-interval": "59s" },
    { "lease-funds-monitor-interval": "25h" },
    { "reclamation-window": "-1h" },
    { "monitor-retry-period": "3s" },
    { "monitor-retry-period-jitter": "0" },
    { "ingress-mode": "traefik" },
    { "gateway-namespace": "Not A Name" },
  ]) {
    assert.equal(refusal(flags).code, "AKP_SETTING_INVALID", JSON.stringify(flags));
  }
});

test("a rule says nothing about a setting that is itself wrong", () => {
  const error = refusal({ "withdrawal-period": "5m", "lease-funds-monitor-interval": "soon" });
  assert.equal(error.code, "AKP_SETTING_INVALID");
  assert.match(error.message, /lease-funds-monitor-interval cannot be "soon"/);
  const other = refusal({ "deployment-ingress-static-hosts": true, "deployment-ingress-domain": "no domain" });
  assert.match(other.message, /deployment-ingress-domain cannot be "no domain"/);
});

test("a provider that asks nothing for everything is rejected once it is about to bid", () => {
  assert.throws(() => checkPricing(load({})), { code: "AKP_SETTING_INVALID", message: /all its prices are zero/ });
  assert.throws(() => checkPricing(load({ "bid-price-storage-scale": "0,beta2=0" })));
  assert.doesNotThrow(() => checkPricing(load({ "bid-price-storage-scale": "0,beta2=0.1" })));
  assert.doesNotThrow(() => checkPricing(load({ "bid-price-strategy": "randomRange" })));
  assert.throws(() => checkPricing(load({ "bid-price-cpu-scale": "0;uakt:0", "bid-price-gpu-scale": "*=0" })));
  assert.doesNotThrow(() => checkPricing(load({ "bid-price-cpu-scale": "0;uakt:0.1" })));
  assert.doesNotThrow(() => checkPricing(load({ "bid-price-gpu-scale": "uakt:h100=1" })));
  assert.doesNotThrow(() => checkPricing(load({ "bid-price-strategy": "table" })));
});

test("a secret as a flag is rejected with why, and with the variables that take it", () => {
  const error = refusal({ "redis-password": "hunter2" });
  assert.doesNotMatch(`${error.message} ${error.advice} ${JSON.stringify(error.details)}`, /hunter2/);
  assert.match(error.message, /every user of this machine can read/);
  assert.match(error.advice, /AP_REDIS_PASSWORD, or AP_REDIS_PASSWORD_FILE/);
});

test("an empty secret is rejected without being shown", () => {
  const error = refusal({}, { AP_REDIS_PASSWORD_FILE: "/empty" }, { "/empty": "" });
  assert.equal(
    error.message,
    "environment AP_REDIS_PASSWORD_FILE: redis-password cannot be that (hidden): it is empty",
  );
});

test("an address to post to that is mistyped is not shown, for it may hold a secret", () => {
  const word = "T0PB0Tsecretword";
  for (const mistyped of [`htps://chat.example.com/${word}`, `https//chat.example.com/?key=${word}`, `${word}@host`]) {
    for (const error of [refusal({ "notify-url": mistyped }), refusal({}, { AP_NOTIFY_URL: mistyped })]) {
      assert.doesNotMatch(`${error.message} ${error.advice} ${JSON.stringify(error.details)}`, new RegExp(word));
      assert.match(error.message, /notify-url cannot be that \(hidden\): it must begin with https:/);
    }
  }
});

test("no secret is ever printed or told, wherever it was given", () => {
  const secrets = liveSettings.flatMap(([, { flag, format }]) => (format.isSecret && flag ? [flag] : []));
  assert.ok(secrets.length >= 2);
  // Letters that no name or text of ours holds, so that finding them means finding the secret.
  const value = fc.string({ unit: fc.constantFrom("Ω", "Ж", "…", "字"), minLength: 4 });
  fc.assert(
    fc.property(
      fc.constantFrom(...secrets),
      value,
      fc.constantFrom("AP_", "AKASH_"),
      fc.boolean(),
      (flag, text, prefix, inFile) => {
        const variable = `${prefix}${variableOf(flag)}`;
        const env = inFile ? { [`${variable}_FILE`]: "/secret" } : { [variable]: text };
        const loaded = load({}, env, { "/secret": text });
        const broken = refusal({ "bid-timeout": "5", node: `foo://me:${text}@host` }, env, { "/secret": text });
        const told = [
          printConfig(loaded),
          printConfigAsJson(loaded),
          broken.message,
          JSON.stringify(broken.details),
        ].join("\n");
        assert.ok(!told.includes(text));
        assert.ok(told.includes("(set, hidden)"));
      },
    ),
    { numRuns: runs(40, 800) },
  );
});

test("the type of the configuration has every setting that does something, and no other", () => {
  const { values } = load({});
  const names = groups.flatMap(({ settings }) =>
    Object.entries(settings).flatMap(([name, { type }]) => (type === "live" ? [name] : [])),
  );
  assert.deepEqual(Object.keys(values).sort(), names.sort());
  const typed: Pick<Config, "bidTimeoutMs" | "hostUri" | "bus"> = values;
  assert.deepEqual([typed.bidTimeoutMs, typed.hostUri, typed.bus], [300_000, undefined, "memory"]);
});
