import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { groupOf, type UnitWish } from "../../../test/support/market-group.ts";
import { priceRequest, priceSettings } from "../../../test/support/price-settings.ts";
import { runs } from "../../../test/support/runs.ts";
import { bridgedDollars, showDecCoin } from "../../market/coin.ts";
import { parseDecimal } from "../../market/decimal.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import type { Quote } from "./pricing.ts";
import { createTable } from "./table.ts";

const gibi = 2n ** 30n;
const { signal } = new AbortController();

async function quote(group: GroupSpec, most: string, flags: Record<string, string> = {}, akt = "0.5"): Promise<Quote> {
  const table = createTable(priceSettings(flags), () => ({ price: parseDecimal(akt), ageMs: 0 }));
  return table.quote(priceRequest(group, most), signal);
}

async function priced(group: GroupSpec, most: string, flags?: Record<string, string>, akt?: string): Promise<string> {
  const answer = await quote(group, most, flags, akt);
  return answer.price ? showDecCoin(answer.price) : answer.reason;
}

test("a month of dollars becomes a rate per block, in each denomination that has one", async () => {
  // Four CPUs, 8 GiB and 100 GiB: 6.40 + 6.40 + 2.00 dollars a month, over 429,909 blocks.
  const group = groupOf({ cpuMilli: 4_000n, memoryBytes: 8n * gibi, storage: { ephemeral: 100n * gibi } });
  assert.equal(await priced(group, "100uact"), "34.42589uact");
  for (const denom of bridgedDollars) assert.equal(await priced(group, `100${denom}`), `34.42589${denom}`);
  assert.equal(await priced(group, "100uakt"), "68.85178uakt");
  assert.equal(await priced(group, "100uusdt"), "there are no prices in uusdt");
});

test("an order that pays less than its rate is a no that says what is expected, and what it would have been", async () => {
  const group = groupOf({ cpuMilli: 4_000n, memoryBytes: 8n * gibi, storage: { ephemeral: 100n * gibi } });
  const answer = await quote(group, "34uact");
  assert.ok(answer.price === undefined);
  assert.match(answer.reason, /requested rate is too low: at least 34.42589uact is expected, and 34uact is offered/);
  assert.equal(answer.wanted && showDecCoin(answer.wanted), "34.42589uact");
  // In dollars the rounded rate is held against the offer, in uakt the exact one.
  assert.equal(await priced(group, "34.42589uact"), "34.42589uact");
});

test("RAM, and storage of classes that the script does not know, are free", async () => {
  const base = { cpuMilli: 1_000n, memoryBytes: gibi, storage: { ephemeral: gibi } };
  const more = { ...base, storage: { ephemeral: gibi, ram: 10n * gibi, default: 10n * gibi } };
  assert.equal(await priced(groupOf(more), "9uact"), await priced(groupOf(base), "9uact"));
});

test("a gpu that has no price costs as much as the dearest, and at least 100 dollars", async () => {
  const h100 = groupOf({ gpus: 1n, gpuKeys: ["vendor/nvidia/model/h100/ram/80Gi/interface/sxm"] });
  const perMonth = async (mappings: string) => {
    const { evidence } = await quote(h100, "100000uact", { "price-target-gpu-mappings": mappings });
    return Math.floor(Number(evidence["dollarsPerMonth"]));
  };
  assert.equal(await perMonth(""), 100);
  assert.equal(await perMonth("t4=80"), 100);
  assert.equal(await perMonth("a100=120,t4=80,*=130"), 130);
  assert.equal(await perMonth("a100=500,h100=200"), 200);
  assert.equal(await perMonth("h100.80Gi=300,h100=200"), 300);
  assert.equal(await perMonth("h100.80Gi.sxm=400,h100.80Gi=300,h100=200"), 400);
  assert.equal(await perMonth("h100.sxm=400,h100=200"), 200, "only the last part is left away, then all");
});

test("no token price → no bid in uakt, with the reason", async () => {
  const table = createTable(priceSettings({}), () => ({ price: undefined, why: "there is no price of AKT" }));
  const answer = await table.quote(priceRequest(groupOf(), "100uakt"), signal);
  assert.ok(answer.price === undefined && answer.reason === "there is no price of AKT");
  assert.ok((await table.quote(priceRequest(groupOf(), "100uact"), signal)).price);
});

/** A fraction of its own kind, so that the table is held against arithmetic that shares nothing with it. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

function fraction(over: bigint, under = 1n): Fraction {
  let [a, b] = [over < 0n ? -over : over, under];
  while (b !== 0n) [a, b] = [b, a % b];
  const divisor = a || 1n;
  return { over: over / divisor, under: under / divisor };
}

const plus = (a: Fraction, b: Fraction) => fraction(a.over * b.under + b.over * a.under, a.under * b.under);
const times = (a: Fraction, b: Fraction) => fraction(a.over * b.over, a.under * b.under);
const by = (a: Fraction, b: Fraction) => times(a, fraction(b.under, b.over));
const isAbove = (a: Fraction, b: Fraction) => a.over * b.under > b.over * a.under;

function fractionOf(text: string): Fraction {
  const [whole = "0", digits = ""] = text.split(".");
  return fraction(BigInt(whole + digits), 10n ** BigInt(digits.length));
}

/** As printf does it: to six digits, the even one where it lies between two. */
function rounded(value: Fraction): Fraction {
  const scaled = times(value, fraction(1_000_000n));
  const below = scaled.over / scaled.under;
  const half = 2n * (scaled.over % scaled.under) - scaled.under;
  return fraction(half > 0n || (half === 0n && below % 2n === 1n) ? below + 1n : below, 1_000_000n);
}

function shown({ over, under }: Fraction): string {
  const digits = String((over * 1_000_000n) / under).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, "");
}

const targets = [
  "cpu",
  "memory",
  "hd-ephemeral",
  "hd-pers-hdd",
  "hd-pers-ssd",
  "hd-pers-nvme",
  "endpoint",
  "ip",
] as const;
type Targets = Readonly<Record<(typeof targets)[number], string>>;

/** Repeats the steps of the script on its JSON input. */
function scriptSays(
  units: readonly UnitWish[],
  dollars: Targets,
  mappings: Record<string, string>,
  akt: string,
  most: string,
) {
  const sumOf = (amount: (unit: UnitWish) => bigint) =>
    fraction(units.reduce((sum, unit) => sum + amount(unit) * BigInt(unit.count ?? 1), 0n));
  const inGibi = (amount: (unit: UnitWish) => bigint) => by(sumOf(amount), fraction(gibi));
  const ofClass = (name: string) => inGibi(({ storage = {} }) => storage[name] ?? 0n);
  let fallback = fraction(100n);
  for (const price of Object.values(mappings)) if (isAbove(fractionOf(price), fallback)) fallback = fractionOf(price);
  let total = times(
    by(
      sumOf(({ cpuMilli = 0n }) => cpuMilli),
      fraction(1_000n),
    ),
    fractionOf(dollars.cpu),
  );
  const add = (amount: Fraction, price: string) => {
    total = plus(total, times(amount, fractionOf(price)));
  };
  add(
    inGibi(({ memoryBytes = 0n }) => memoryBytes),
    dollars.memory,
  );
  add(ofClass("ephemeral"), dollars["hd-ephemeral"]);
  add(ofClass("beta1"), dollars["hd-pers-hdd"]);
  add(ofClass("beta2"), dollars["hd-pers-ssd"]);
  add(ofClass("beta3"), dollars["hd-pers-nvme"]);
  // The script means to multiply these by the replicas, and by jq's precedence does not.
  const perUnit = (amount: (unit: UnitWish) => number) =>
    fraction(BigInt(units.reduce((sum, unit) => sum + amount(unit), 0)));
  add(
    perUnit(({ endpoints = [] }) => endpoints.length),
    dollars.endpoint,
  );
  const leasedOf = ({ endpoints = [] }: UnitWish) => endpoints.filter(({ kind }) => kind === "leased-ip");
  add(
    perUnit((unit) => new Set(leasedOf(unit).map(({ sequenceNumber }) => sequenceNumber)).size),
    dollars.ip,
  );
  for (const { gpus = 0n, gpuKeys = [], count = 1 } of units) {
    const parts = gpuKeys[0]?.split("/").filter((_, index) => index % 2 === 1 && index > 1) ?? [];
    const found = [parts, parts.slice(0, -1), parts.slice(0, 1)].map((names) => mappings[names.join(".")]);
    const price = found.find((each) => each !== undefined);
    total = plus(total, times(fraction(BigInt(count) * gpus), price === undefined ? fallback : fractionOf(price)));
  }
  const [, amount = "", denom = ""] = /^([\d.]+)(.*)$/.exec(most) ?? [];
  const perBlock = by(times(total, fraction(1_000_000n)), fraction(429_909n));
  const rate = denom === "uakt" ? by(perBlock, fractionOf(akt)) : rounded(perBlock);
  if (isAbove(rate, fractionOf(amount))) return "too low";
  return rounded(rate).over === 0n ? "zero" : `${shown(rounded(rate))}${denom}`;
}

const dollars = fc.integer({ min: 0, max: 1_000_000 }).map((cents) => (cents / 10_000).toFixed(4));
const models = ["a100", "h100", "t4", "rtx4090"];
const bytes = fc.bigInt({ min: 1n, max: 64n * gibi });
const endpoint = fc.record({
  kind: fc.constantFrom("shared-http" as const, "random-port" as const, "leased-ip" as const),
  sequenceNumber: fc.integer({ min: 0, max: 3 }),
});
const unit: fc.Arbitrary<UnitWish> = fc.record({
  count: fc.integer({ min: 1, max: 20 }),
  cpuMilli: fc.bigInt({ min: 10n, max: 384_000n }),
  memoryBytes: bytes,
  storage: fc.dictionary(fc.constantFrom("ephemeral", "beta1", "beta2", "beta3", "ram", "default"), bytes),
  endpoints: fc.array(endpoint, { maxLength: 4 }),
  gpus: fc.bigInt({ min: 0n, max: 8n }),
  gpuKeys: fc
    .tuple(fc.constantFrom(...models), fc.constantFrom("", "/ram/80Gi"), fc.constantFrom("", "/interface/sxm"))
    .map(([model, ram, connector]) => [`vendor/nvidia/model/${model}${ram}${connector}`]),
});
const mappingKey = fc
  .tuple(fc.constantFrom(...models), fc.constantFrom("", ".80Gi"), fc.constantFrom("", ".sxm"))
  .map((parts) => parts.join(""));

test("equals the standard script's arithmetic, in fractions, on a thousand orders", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(unit, { minLength: 1, maxLength: 4 }),
      fc.record(Object.fromEntries(targets.map((name) => [name, dollars]))) as unknown as fc.Arbitrary<Targets>,
      fc.dictionary(mappingKey, dollars, { maxKeys: 4 }),
      fc.integer({ min: 1, max: 50_000 }).map((cents) => (cents / 10_000).toFixed(4)),
      fc.constantFrom("uakt", "uact", ...bridgedDollars),
      fc.constantFrom("0.5", "5000", "9999999"),
      async (units, prices, mappings, akt, denom, offered) => {
        const flags = Object.fromEntries(targets.map((name) => [`price-target-${name}`, prices[name]]));
        const gpus = Object.entries(mappings).map(([key, price]) => `${key}=${price}`);
        const most = `${offered}${denom}`;
        const ours = await quote(
          groupOf(...units),
          most,
          { ...flags, "price-target-gpu-mappings": gpus.join(",") },
          akt,
        );
        const theirs = scriptSays(units, prices, mappings, akt, most);
        if (theirs === "too low") assert.match(ours.price ? "a price" : ours.reason, /rate is too low/);
        else assert.equal(ours.price ? showDecCoin(ours.price) : "zero", theirs);
        seen.add(theirs === "too low" || theirs === "zero" ? theirs : denom);
      },
    ),
    { numRuns: runs(1_000, 20_000) },
  );
  assert.ok(seen.size >= 5, `all of it was met: ${[...seen]}`);
});
