/** What each format of value takes and rejects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { inDenom } from "../../market/coin.ts";
import { showDecimal, zero } from "../../market/decimal.ts";
import { liveSettings } from "../table.ts";
import {
  account,
  addressRanges,
  domain,
  endpoint,
  endpoints,
  hostname,
  hostnamePatterns,
  ingressControllers,
  ipRanges,
  listenAddress,
  rpcUrls,
  url,
} from "./addresses.ts";
import { BadValue, type TextFormat } from "./format.ts";
import { coin, gas, gasAdjustment, gasPrices, gpuPrices, perDenom, price, storagePrices } from "./money.ts";
import { choice, duration, freeText, onOff, path, percent, secret, whole } from "./plain.ts";

function takes<T>(format: TextFormat<T>, cases: readonly (readonly [string, T])[]): void {
  for (const [given, value] of cases) assert.deepEqual(format.read(given), value, given);
}

function refuses(format: TextFormat<unknown>, cases: readonly string[]): void {
  for (const given of cases) assert.ok(format.read(given) instanceof BadValue, given);
}

test("switches are the words of Go's ParseBool and no others", () => {
  for (const word of ["1", "t", "T", "TRUE", "true", "True"]) assert.equal(onOff.read(word), true, word);
  for (const word of ["0", "f", "F", "FALSE", "false", "False"]) assert.equal(onOff.read(word), false, word);
  refuses(onOff, ["yes", "no", "on", "", "tRUE", "2", "constructor"]);
});

test("a choice takes its words and their synonyms, and says which word is nearest", () => {
  const format = choice(["scale", "randomRange", "shellScript"], { script: "shellScript" });
  takes(format, [
    ["scale", "scale"],
    ["script", "shellScript"],
  ]);
  refuses(format, ["Scale", "constructor", ""]);
  const fault = format.read("shelScript");
  assert.equal(fault instanceof BadValue && fault.hint, "Did you mean shellScript?");
});

test("numbers are whole and within their bounds", () => {
  takes(whole(1, 10), [
    ["1", 1],
    ["+10", 10],
  ]);
  refuses(whole(1, 10), ["0", "11", "1.0", "1e0", "0x1", "ten", "1 0"]);
  takes(percent, [["150", 150]]);
  refuses(percent, ["50%", "-1", "1.5", "10001"]);
});

test("a time has bounds, and zero means what the setting says it means", () => {
  refuses(duration({ least: "1m", most: "24h" }), ["59s", "24h1ms", "0"]);
  takes(duration({ least: "4s", zero: "turns it off" }), [["0", 0]]);
  refuses(duration({ zero: "refused" }), ["0s"]);
  takes(duration(), [["0s", 0]]);
});

test("an address to listen on may leave out the host; one to reach may not", () => {
  takes(listenAddress, [
    ["0.0.0.0:8443", { host: "0.0.0.0", port: 8443 }],
    [":8443", { host: "0.0.0.0", port: 8443 }],
    ["[::1]:0", { host: "::1", port: 0 }],
    ["localhost:1", { host: "localhost", port: 1 }],
  ]);
  refuses(listenAddress, [
    "8443",
    "localhost",
    "localhost:",
    "localhost:x",
    "localhost:65536",
    "::1:8443",
    "a b:1",
    "[a]:1",
  ]);
  takes(endpoint, [["operator-ip.akash-services:8080", { host: "operator-ip.akash-services", port: 8080 }]]);
  refuses(endpoint, [":8080", "host:0", "http://host:80"]);
  takes(endpoints, [[" 10.0.0.5:26379, [::1]:26379,", ["10.0.0.5:26379", "[::1]:26379"]]]);
});

test("a URL has one of the schemes it may have", () => {
  const redis = url(["redis", "rediss"], "redis://host", { credentials: "refused" });
  takes(redis, [["redis://host:6379/0", "redis://host:6379/0"]]);
  refuses(redis, ["http://host", "host:6379", "redis://", "redis://user:word@host", "redis://user@host"]);
  refuses(url(["https"], "https://host", { path: "refused" }), [
    "https://host/a",
    "https://host/?a",
    "https://host/#a",
  ]);
});

test("several nodes can be given, and tcp is plain HTTP", () => {
  takes(rpcUrls, [
    ["tcp://localhost:26657,https://rpc.example.com:443", ["http://localhost:26657", "https://rpc.example.com:443"]],
  ]);
  refuses(rpcUrls, ["", ",", "localhost:26657", "ftp://host", "https://a,b"]);
});

test("a password in a URL is never shown", () => {
  assert.equal(url(["https"], "").show("https://me:pass@word@host"), "https://(hidden)@host");
  for (const given of [
    "https://me:pass@word,/@host/path",
    "https://pass@host",
    "https://me:pass@host:99999",
    "me:pass@host:1",
  ]) {
    const read = rpcUrls.read(given);
    const told = read instanceof BadValue ? `${read.reason} ${read.hint}` : rpcUrls.show(read);
    assert.doesNotMatch(told, /pass|word/, told);
  }
});

test("a domain is a domain, and a URL in its place gets a hint", () => {
  takes(domain, [["Ingress.Example.com", "ingress.example.com"]]);
  refuses(domain, ["ingress.", "-a.com", "a..b", "a_b.com", "*.example.com", `${"a".repeat(64)}.com`]);
  takes(hostname, [["10.0.0.1", "10.0.0.1"]]);
  const fault = hostname.read("https://provider.example.com:8443");
  assert.equal(fault instanceof BadValue && fault.hint, "Write only the name: provider.example.com");
  takes(hostnamePatterns, [["www.example.com,.Example.org,*.co.uk", ["www.example.com", ".example.org", "*.co.uk"]]]);
  refuses(hostnamePatterns, ["*", "*example.com", "a.*.com"]);
});

test("an account's address is checked to its last letter", () => {
  const address = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr";
  takes(account, [[address, address]]);
  refuses(account, [address.replace(/r$/, "q"), "cosmos1qqqsyqcyq5rqwzqfpg9scrgwpugpzysn", "me"]);
});

test("prices are exact, and never negative", () => {
  takes(price, [["0.004", { atto: 4_000_000_000_000_000n }]]);
  refuses(price, ["-1", "1e3", "abc", "0.1uakt", "1,5"]);
  takes(gasAdjustment, [["1.5", { atto: 1_500_000_000_000_000_000n }]]);
  refuses(gasAdjustment, ["0.9"]);
  takes(gas, [
    ["auto", "auto"],
    ["200000", 200_000n],
  ]);
  refuses(gas, ["0", "1.5", "automatic"]);
});

test("coins have a denom", () => {
  takes(coin, [["500000uakt", { denom: "uakt", amount: 500_000n }]]);
  refuses(coin, ["500000", "0.5uakt", "uakt"]);
  takes(gasPrices, [["0.025uakt", [{ denom: "uakt", amount: { atto: 25_000_000_000_000_000n } }]]]);
});

test("storage has a price by class, and a number alone is for ephemeral storage", () => {
  const read = storagePrices.read("0.1,beta2=0.3,ram=0.2");
  assert.ok(!(read instanceof BadValue));
  assert.deepEqual([...read.keys()], ["ephemeral", "beta2", "ram"]);
  assert.equal(storagePrices.show(read), "0.1,beta2=0.3,ram=0.2");
  refuses(storagePrices, ["beta2=", "=1", "0.1,0.2", "a=1,a=2", "a=b=c", "0.1,,0.2", "-1"]);
});

test("a gpu has a price by model, perhaps with memory and interface", () => {
  const read = gpuPrices.read("a100=120, h100.80Gi.sxm=300.5 ,*=100");
  assert.ok(!(read instanceof BadValue));
  assert.equal(gpuPrices.show(read), "a100=120,h100.80Gi.sxm=300.5,*=100");
  takes(gpuPrices, [["", new Map()]]);
  refuses(gpuPrices, [",", "100", "a100=", "=1", "a100=1,a100=2", "a100=-1", "a100=x", "a100"]);
});

test("a price may be another one in some denominations", () => {
  const axl = "ibc/170C677610AC31DF0904FFE09CD3B5C657492170E7E52372E48756B71E56F2F1";
  const format = perDenom(price);
  const read = format.read(`0.004; uakt:0.01;${axl}:0.003`);
  assert.ok(!(read instanceof BadValue));
  assert.equal(format.show(read), `0.004;uakt:0.01;${axl}:0.003`);
  const shown = (denom: string) => showDecimal(inDenom(read, denom) ?? zero);
  assert.deepEqual(["uakt", axl, "uact"].map(shown), ["0.01", "0.003", "0.004"]);
  const own = format.read("uakt:0.01");
  assert.ok(!(own instanceof BadValue));
  assert.equal(inDenom(own, "uact"), undefined);
  refuses(format, ["1;2", "uakt:1;uakt:2", "u:1", "uakt:", ":1", "1;", "uakt:-1"]);
  const classes = perDenom(storagePrices).read("0.1,beta2=0.3;uakt:0.2");
  assert.ok(!(classes instanceof BadValue));
  assert.deepEqual([...(inDenom(classes, "uakt")?.keys() ?? [])], ["ephemeral"]);
});

test("text is trimmed, and a secret is not", () => {
  takes(freeText("a text"), [["  a b ", "a b"]]);
  assert.equal(secret.schema.parse(" pass "), " pass ");
  assert.equal(secret.show("pass"), "(set, hidden)");
  refuses(path, ["", "  "]);
});

test("no text makes a format throw, and what is shown of a value is read as the same value", () => {
  const kinds = new Map(
    liveSettings.flatMap(([name, { format }]) =>
      "read" in format ? [[name, format as TextFormat<unknown>] as const] : [],
    ),
  );
  const snippets = fc.constantFrom(
    "0",
    "1",
    ".",
    ",",
    ":",
    "=",
    "5m",
    "a",
    "akash",
    "http://",
    "[",
    "]",
    "-",
    "@",
    "/",
    " ",
    "uakt",
    "é",
  );
  const given = fc.oneof(
    fc.string({ unit: "binary-ascii" }),
    fc.array(snippets, { maxLength: 8 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(fc.constantFrom(...kinds.keys()), given, (name, text) => {
      const format = kinds.get(name) ?? assert.fail(name);
      const value = format.read(text);
      if (value instanceof BadValue) return;
      const shown = format.show(value);
      // What is hidden cannot be read back.
      if (text.includes("@") || shown.includes("(hidden)")) return;
      assert.deepEqual(format.read(shown), value, name);
    }),
    { numRuns: runs(1_000, 100_000) },
  );
});

test("ranges of addresses are kept in one form, and all addresses at once are none", () => {
  takes(ipRanges, [
    ["10.96.1.2/12, FD00::/108", ["10.96.0.0/12", "fd00::/108"]],
    ["203.0.113.7", ["203.0.113.7/32"]],
    ["", []],
  ]);
  refuses(ipRanges, ["0.0.0.0/0", "::/0", "10.0.0.0/33", "office"]);
});

test("addresses to lease are ranges of one family", () => {
  takes(addressRanges, [
    ["203.0.113.8/31", [{ family: 4, first: 0xcb007108n, last: 0xcb007109n }]],
    ["", []],
  ]);
  refuses(addressRanges, ["203.0.113.0/28,fd00::/124", "10.0.0.0/8", "203.0.113.9-203.0.113.5", "office"]);
});

test("an ingress controller is a name, or where its requests come from", () => {
  takes(ingressControllers, [
    ["ingress-nginx,10.0.0.1/24", [{ name: "ingress-nginx" }, { range: "10.0.0.0/24" }]],
    ["10.0.0.1", [{ range: "10.0.0.1/32" }]],
    ["", []],
  ]);
  refuses(ingressControllers, ["Traefik", "a/b", "0.0.0.0/0", "my controller"]);
});
