import assert from "node:assert/strict";
import { test } from "node:test";
import { groupOf, type UnitWish } from "../../../test/support/market-group.ts";
import { priceRequest, priceSettings } from "../../../test/support/price-settings.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { showDecCoin } from "../../market/coin.ts";
import { createRandomRange } from "./create-pricing.ts";
import type { Quote } from "./pricing.ts";
import { createScale } from "./scale.ts";

const mebi = 2n ** 20n;
const nothing: UnitWish = { cpuMilli: 0n, memoryBytes: 0n, storage: {} };
const { signal } = new AbortController();

async function quote(flags: Record<string, string>, units: UnitWish[], most?: string): Promise<Quote> {
  return createScale(priceSettings(flags)).quote(priceRequest(groupOf(...units), most), signal);
}

async function priced(flags: Record<string, string>, units: UnitWish[], most?: string): Promise<string> {
  const { price } = await quote(flags, units, most);
  return price ? showDecCoin(price) : "no price";
}

async function reasonOf(flags: Record<string, string>, units: UnitWish[], most?: string): Promise<string> {
  const answer = await quote(flags, units, most);
  return answer.price === undefined ? answer.reason : assert.fail(showDecCoin(answer.price));
}

test("every requested resource has its price, times its count", async () => {
  const flags = {
    "bid-price-cpu-scale": "0.004",
    "bid-price-memory-scale": "0.0016",
    "bid-price-storage-scale": "0.00016,beta2=0.5",
    "bid-price-endpoint-scale": "7",
    "bid-price-ip-scale": "100",
  };
  assert.equal(await priced(flags, [{ ...nothing, cpuMilli: 100n, count: 3 }]), "1.2uakt");
  assert.equal(await priced(flags, [{ ...nothing, memoryBytes: 128n * mebi, count: 2 }]), "0.4096uakt");
  assert.equal(await priced(flags, [{ ...nothing, storage: { ephemeral: 512n * mebi } }]), "0.08192uakt");
  assert.equal(await priced(flags, [{ ...nothing, storage: { beta2: 10n * mebi }, count: 2 }]), "10uakt");
  const all = { cpuMilli: 100n, memoryBytes: 128n * mebi, storage: { ephemeral: 512n * mebi }, count: 1 };
  assert.equal(await priced(flags, [all, all]), "1.37344uakt");
});

test("endpoints are counted per unit, not per replica, and a leased address once however many use it", async () => {
  const flags = { "bid-price-endpoint-scale": "7", "bid-price-ip-scale": "100" };
  const http = { kind: "shared-http", sequenceNumber: 0 } as const;
  const leased = (sequenceNumber: number) => ({ kind: "leased-ip", sequenceNumber }) as const;
  assert.equal(await priced(flags, [{ ...nothing, endpoints: [http, http], count: 5 }]), "14uakt");
  const units = [
    { ...nothing, endpoints: [leased(1), leased(1), leased(2)], count: 2 },
    { ...nothing, endpoints: [leased(2)] },
  ];
  assert.equal(await priced(flags, units), "228uakt");
});

test("a gpu has the price of its model as it is offered, with memory and interface where they are named", async () => {
  const flags = { "bid-price-gpu-scale": "a100=120,h100=300,h100.80Gi.sxm=400,*=50" };
  const cases: [string, string][] = [
    ["vendor/nvidia/model/a100", "240uakt"],
    ["vendor/nvidia/model/a100/ram/80Gi", "240uakt"],
    ["vendor/nvidia/model/h100/ram/80Gi/interface/sxm", "800uakt"],
    ["vendor/nvidia/model/h100/ram/80Gi/interface/pcie", "600uakt"],
    ["vendor/nvidia/model/t4", "100uakt"],
    ["vendor/amd/model/mi100", "100uakt"],
  ];
  for (const [key, expected] of cases) {
    assert.equal(await priced(flags, [{ ...nothing, gpus: 1n, gpuKeys: [key], count: 2 }]), expected, key);
  }
  const wanted = groupOf({ ...nothing, gpus: 2n, gpuKeys: ["vendor/nvidia/model/*"] });
  const given = groupOf({ ...nothing, gpus: 2n, gpuKeys: ["vendor/nvidia/model/a100"] });
  const answer = await createScale(priceSettings(flags)).quote({ ...priceRequest(wanted), offer: given.units }, signal);
  assert.equal(answer.price && showDecCoin(answer.price), "240uakt");
});

test("a gpu without a price is not given away", async () => {
  const unit = { gpus: 1n, gpuKeys: ["vendor/nvidia/model/h100"] };
  const flags = { "bid-price-cpu-scale": "1", "bid-price-gpu-scale": "a100=120" };
  assert.match(await reasonOf(flags, [unit]), /no price for a gpu h100; set it in bid-price-gpu-scale/);
  assert.match(await reasonOf({ "bid-price-cpu-scale": "1" }, [{ gpus: 1n }]), /no price for a gpu of any model/);
  assert.equal(await priced({ "bid-price-gpu-scale": "h100=0;uakt:h100=5" }, [{ ...nothing, ...unit }]), "5uakt");
});

test("storage of a class without a price is a no that names the class; RAM costs what memory does", async () => {
  const flags = { "bid-price-memory-scale": "2", "bid-price-storage-scale": "1,beta2=3" };
  assert.match(await reasonOf(flags, [{ storage: { beta3: mebi } }]), /no price for storage of the class beta3/);
  assert.equal(await priced(flags, [{ ...nothing, storage: { ram: 4n * mebi } }]), "8uakt");
  const own = { ...flags, "bid-price-storage-scale": "1,ram=9" };
  assert.equal(await priced(own, [{ ...nothing, storage: { ram: mebi } }]), "9uakt");
});

test("a denomination may have prices of its own, and without any there is no bid", async () => {
  const flags = { "bid-price-cpu-scale": "0.1;uakt:0.3" };
  assert.equal(await priced(flags, [{ cpuMilli: 10n }], "1uakt"), "3uakt");
  assert.equal(await priced(flags, [{ cpuMilli: 10n }], "1uact"), "1uact");
  assert.match(await reasonOf({ "bid-price-cpu-scale": "uakt:0.3" }, [{}], "1uact"), /cpu-scale has no price in uact/);
});

test("sums are exact, a part of the last digit counts as a whole one, and zero is a no", async () => {
  const flags = { "bid-price-memory-scale": "0.000000000000000001" };
  assert.equal(await priced(flags, [{ memoryBytes: 1n }]), "0.000000000000000001uakt");
  assert.equal(await priced(flags, [{ memoryBytes: 1_000n * mebi, count: 3 }]), "0.000000000000003uakt");
  const large = { "bid-price-cpu-scale": "123456789.123456789" };
  assert.equal(await priced(large, [{ cpuMilli: 384_000n, count: 50 }]), "2370370351170370.3488uakt");
  assert.match(await reasonOf({ "bid-price-ip-scale": "1" }, [{}]), /price would be zero/);
});

test("a price by chance lies between its bounds, and the same seed draws the same", async () => {
  const draw = async (seed: number, most: string, memoryBytes: bigint) => {
    const { price } = await createRandomRange(createSeededRandom(seed)).quote(
      priceRequest(groupOf({ memoryBytes }), most),
      signal,
    );
    return price?.amount.atto ?? 0n;
  };
  const one = 10n ** 18n;
  for (let seed = 0; seed < 200; seed += 1) {
    const price = await draw(seed, "1000uakt", 2n ** 30n);
    assert.ok(price >= 50n * one && price < 50n * one + (950n * one) / 100n, String(price));
    assert.equal(price, await draw(seed, "1000uakt", 2n ** 30n));
  }
  assert.equal(await draw(1, "10uakt", 2n ** 30n), 50n * one, "a price below the minimum is raised to the minimum");
  assert.ok((await draw(1, "1000uakt", mebi)) >= one, "zero becomes one");
});
