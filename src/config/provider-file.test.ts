import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import type { PerDenom } from "../market/coin.ts";
import { type Decimal, showDecimal } from "../market/decimal.ts";
import { ProviderError } from "../runtime/errors.ts";
import { settingsFileChars, settingsFileFaults } from "../runtime/limits.ts";
import { loadConfig } from "./load.ts";

function load(text: string) {
  const flags = { "provider-config": "provider.yaml" };
  return loadConfig({ flags, env: { HOME: "/root" }, readFile: () => text });
}

function shown({ general }: PerDenom<Decimal>): string | undefined {
  return general && showDecimal(general);
}

function refusal(text: string): ProviderError {
  try {
    load(text);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  return assert.fail("it was not refused");
}

const example = `# Attributes
attributes:
  - key: host
    value: akash

# Pricing
bidpricestoragescale: 1.0
bidpricecpuscale: 1.0
bidpricememoryscale: 1.0

# Features
deployment_ingress_static_hosts: true
deployment_ingress_domain: provider.example.com
`;

test("the example of the provider's documentation is read, each value with its line", () => {
  const { values, sources, warnings } = load(example);
  assert.deepEqual(values.attributes, [{ key: "host", value: "akash" }]);
  assert.equal(shown(values.bidPriceCpuScale), "1");
  assert.equal(shown(values.bidPriceMemoryScale), "1");
  assert.deepEqual(
    [...(values.bidPriceStorageScale.general ?? [])].map(([name, price]) => [name, showDecimal(price)]),
    [["ephemeral", "1"]],
  );
  assert.equal(values.deploymentIngressStaticHosts, true);
  assert.equal(values.deploymentIngressDomain, "provider.example.com");
  assert.deepEqual(warnings, []);
  assert.equal(sources.attributes, "provider.yaml:2");
  assert.equal(sources.bidPriceCpuScale, "provider.yaml:8");
  assert.equal(sources.deploymentIngressDomain, "provider.yaml:13");
  assert.equal(sources.bidTimeoutMs, "default");
});

test("the file that the network's chart writes is read; its owner is ignored, and says so", () => {
  const { values, warnings } = load(`host: https://provider.example.com:8443
attributes:
  - key: capabilities/storage/1/persistent
    value: true
info:
  email: me@example.com
  website:
owner: akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr
`);
  assert.equal(values.hostUri, "https://provider.example.com:8443");
  assert.deepEqual(values.attributes, [{ key: "capabilities/storage/1/persistent", value: "true" }]);
  assert.equal(values.info?.email, "me@example.com");
  assert.equal(values.info?.website, undefined);
  assert.deepEqual(warnings, [
    "provider.yaml:8:1: owner has no effect: the provider's owner is the account of its key.",
  ]);
});

test("an empty file, and keys without a value, are as good as none", () => {
  for (const text of ["", "# nothing\n", "---\n", "host:\nattributes:\nbidpricecpuscale: ~\n"]) {
    assert.deepEqual(load(text).values.attributes, [], text);
  }
});

test("a number is kept digit by digit", () => {
  for (const digits of ["0.1", "0.10", "0.000000000000000001", "123456789012345678.9", "1.0"]) {
    const { values } = load(`bidpricecpuscale: ${digits}\nattributes: [{key: size, value: ${digits}}]`);
    assert.equal(Number(shown(values.bidPriceCpuScale)), Number(digits));
    assert.deepEqual(values.attributes, [{ key: "size", value: digits }]);
  }
  assert.equal(shown(load("bidpricecpuscale: 0.123456789012345678").values.bidPriceCpuScale), "0.123456789012345678");
});

test("numbers and lists of prices may be written as texts too", () => {
  const { values } = load(`bidpricecpuscale: "0.004"\nbidpricestoragescale: 0.1,beta2=0.3`);
  assert.equal(shown(values.bidPriceCpuScale), "0.004");
  assert.deepEqual([...(values.bidPriceStorageScale.general?.keys() ?? [])], ["ephemeral", "beta2"]);
});

test("a wrong name is rejected with its place and the nearest right name", () => {
  const error = refusal("host: https://a.example.com\nbidpricecpuscal: 1\n");
  assert.equal(error.code, "AKP_SETTING_UNKNOWN");
  assert.equal(
    `${error.message} ${error.advice}`,
    "provider.yaml:2:1: there is no setting bidpricecpuscal Did you mean bidpricecpuscale?",
  );
});

test("a flag's name in the file is rejected with the place where it belongs", () => {
  assert.match(refusal("bid-timeout: 5m").advice, /--bid-timeout or AP_BID_TIMEOUT/);
  assert.equal(refusal("bid-price-cpu-scale: 1").advice, "Did you mean bidpricecpuscale?");
});

test("everything that is wrong is told at once, each with its place", () => {
  const error = refusal(`attributes:
  - key: 1st
    value: x
  - key: host
    vale: y
  - key: host
    value: z
bidpricecpuscale: -1
deployment_ingress_static_hosts: maybe
deployment_ingres_domain: example.com
info:
  mail: me@example.com
host: http://provider.example.com
`);
  assert.equal(error.code, "AKP_SETTINGS_REFUSED");
  assert.equal(error.entry.exit, 2);
  const places = [...error.message.matchAll(/^ {2}- provider\.yaml:(\d+:\d+): (.*?)(?:: |\. )/gm)];
  assert.deepEqual(places.map(([, place, what]) => `${place} ${what}`).sort(), [
    "10:1 there is no setting deployment_ingres_domain",
    "12:3 there is no setting mail",
    '13:7 host cannot be "http://provider.example.com"',
    '2:10 key of attributes cannot be "1st"',
    "4:5 value of attributes cannot be nothing",
    "5:5 there is no setting vale",
    '6:10 key of attributes cannot be "host"',
    '8:19 bidpricecpuscale cannot be "-1"',
    '9:34 deployment_ingress_static_hosts cannot be "maybe"',
  ]);
});

test("YAML that is none, or that says the same thing twice, is rejected with its place", () => {
  const cases: [string, RegExp][] = [
    ["attributes: [\n", /^provider\.yaml:2:1: this is not valid YAML/],
    ["host: 'https://a\n", /^provider\.yaml:\d:\d+: this is not valid YAML/],
    [
      "bidpricecpuscale: 1\nbidpricecpuscale: 2\n",
      /^provider\.yaml:2:1: this is not valid YAML: the same name is given twice/,
    ],
    ["info:\n  email: a@b.c\n  email: d@e.f\n", /^provider\.yaml:3:3: .* given twice/],
    ["- a\n- b\n", /^provider\.yaml:1:1: .* settings are expected/],
    ["just text", /^provider\.yaml:1:1: .* settings are expected/],
    ["host: !secret x\n", /^provider\.yaml:1:7: .* !secret/],
    ["host: *nowhere\n", /^provider\.yaml:1:7: /],
    ["a: 1\n---\nb: 2\n", /^provider\.yaml:2:1: /],
  ];
  for (const [text, message] of cases) {
    const error = refusal(text);
    assert.equal(error.code, "AKP_SETTINGS_FILE_MALFORMED", text);
    assert.match(error.message, message, text);
  }
});

test("aliases are followed, but neither in circles nor without end", () => {
  const { values } = load("info: {email: &me me@example.com, website: *me}");
  assert.equal(values.info?.website, "me@example.com");
  const doubling = Array.from({ length: 20 }, (_, level) => `&a${level} [*a${level - 1}, *a${level - 1}]`);
  for (const text of [
    "attributes: &a [*a]",
    `attributes: [&a-1 x, ${doubling.join(", ").replaceAll("*a-1", "*a-1 ")}]`,
  ]) {
    assert.equal(refusal(text).code, "AKP_SETTINGS_FILE_MALFORMED", text);
  }
});

test("a file that is much too long, or all brackets, is rejected", () => {
  assert.match(refusal(`# ${"x".repeat(settingsFileChars)}`).message, /longer than/);
  const error = refusal("[".repeat(5_000));
  assert.ok(error.message.split("\n").length <= settingsFileFaults + 1);
});

test("a key of an attribute is what the chain takes for one", () => {
  for (const key of ["ab", "region", "capabilities/gpu/vendor/nvidia/model/*", "a.b-c_d", "a".repeat(128)]) {
    assert.deepEqual(load(`attributes: [{key: ${JSON.stringify(key)}, value: v}]`).values.attributes, [
      { key, value: "v" },
    ]);
  }
  for (const key of ["", "a", "1a", "/a", "a b", "ä1", "a".repeat(129), "a**"]) {
    assert.equal(refusal(`attributes: [{key: ${JSON.stringify(key)}, value: v}]`).code, "AKP_SETTING_INVALID", key);
  }
});

test("no text makes the reader throw anything but an error of ours", () => {
  const snippet = fc.constantFrom(
    ...[
      "attributes:",
      "host:",
      "info:",
      "bidpricecpuscale:",
      "owner:",
      "- ",
      "key: ",
      "value: ",
      "\n",
      "\n  ",
      "&a ",
      "*a",
      "!!",
      "!x",
    ],
    ...[
      "{",
      "}",
      "[",
      "]",
      ",",
      ": ",
      "? ",
      "'",
      '"',
      "|",
      ">",
      "#",
      "---\n",
      "...\n",
      "%YAML 1.2\n",
      "<<: ",
      "1.0",
      "~",
      "\t",
      "é",
      "\0",
    ],
  );
  const yaml = fc.oneof(
    fc.array(snippet, { maxLength: 30 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary-ascii", maxLength: 60 }),
  );
  fc.assert(
    fc.property(yaml, (text) => {
      try {
        load(text);
      } catch (error) {
        assert.ok(error instanceof ProviderError, String(error));
        assert.doesNotMatch(error.message, /undefined|NaN|\[object/);
      }
    }),
    { numRuns: runs(300, 15_000) },
  );
});
