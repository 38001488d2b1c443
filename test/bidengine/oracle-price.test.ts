/** What an AKT is worth by the chain's own oracle: of a node of the box, with an oracle put in front of it. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { QueryAggregatedPriceResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { createPricing } from "../../src/bidengine/pricing/create-pricing.ts";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import { createPool, type Pool } from "../../src/chain/comet/pool.ts";
import { oraclePriceQueries } from "../../src/chain/comet/queries/oracle-price.ts";
import { createQueries } from "../../src/chain/comet/queries/queries.ts";
import { showDecCoin } from "../../src/market/coin.ts";
import { parseDecimal, showDecimal } from "../../src/market/decimal.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { memoryFolder } from "../support/folder.ts";
import { priceSettings } from "../support/price-settings.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { onBidStage, smallGroup, startProvider } from "../support/stages/bid-stage.ts";
import { answerBytes, createOracleState, type OracleState, oracleTransport } from "./oracle-transport.ts";

const [newest, oldest] = oraclePriceQueries;
const paths = oraclePriceQueries.map(({ path }) => path);
const atMs = Date.UTC(2026, 10, 16);

function read(bytes: Uint8Array) {
  assert.ok(newest);
  return newest.decode(bytes, 1n);
}

test("the oracle's average, its time and its health are read from bytes as the chain writes them", () => {
  const oracle = createOracleState(atMs);
  const healthy = read(answerBytes(oracle));
  assert.deepEqual(
    { ...healthy, dollars: showDecimal(healthy.dollars) },
    { denom: "akt", dollars: "0.5", timeNs: BigInt(atMs) * 1_000_000n, unhealthy: undefined },
  );
  const failures = ["insufficient price sources: 1 < 2", "price deviation too high: 200bps > 150bps"];
  assert.equal(read(answerBytes({ ...oracle, failures })).unhealthy, failures.join("; "));
  // By hand: akt, 1.25 dollars, at second 1, healthy.
  const bytes = Buffer.concat([
    Buffer.from("0a1e0a03616b741213", "hex"),
    Buffer.from("1250000000000000000"),
    Buffer.from("32020801", "hex"),
    Buffer.from("12021801", "hex"),
  ]);
  assert.deepEqual(read(bytes), {
    denom: "akt",
    dollars: parseDecimal("1.25"),
    timeNs: 1_000_000_000n,
    unhealthy: undefined,
  });
});

test("what the network's own codec writes of the first version is read alike", () => {
  const given = {
    aggregatedPrice: {
      denom: "akt",
      ...{ twap: "0.4231", medianPrice: "0.43", minPrice: "0.42", maxPrice: "0.44" },
      ...{ timestamp: new Date(atMs), numSources: 2 },
    },
    priceHealth: { denom: "akt", isHealthy: true, hasMinSources: true, deviationOk: true },
  };
  const bytes = QueryAggregatedPriceResponse.encode(QueryAggregatedPriceResponse.fromPartial(given)).finish();
  const { dollars, timeNs, unhealthy } = oldest?.decode(bytes, 1n) ?? assert.fail();
  assert.deepEqual([showDecimal(dollars), timeNs, unhealthy], ["0.4231", BigInt(atMs) * 1_000_000n, undefined]);
});

test("invalid oracle answers → rejected", () => {
  const oracle = createOracleState(atMs);
  const wrong: [Uint8Array, RegExp][] = [
    [new Uint8Array(), /without a price/],
    [answerBytes(oracle).subarray(0, -1), /premature EOF/],
    [answerBytes({ ...oracle, atto: "" }), /no whole number/],
    [answerBytes({ ...oracle, atto: "-5" }), /no whole number/],
    [answerBytes({ ...oracle, atto: "0.5" }), /no whole number/],
    [answerBytes({ ...oracle, atto: "9".repeat(41) }), /no whole number/],
    [answerBytes({ ...oracle, atMs: -1 }), /without a time/],
    [answerBytes({ ...oracle, atMs: 1e15 }), /without a time/],
  ];
  for (const [bytes, expected] of wrong) assert.throws(() => read(bytes), expected);
});

test("a real node knows the second version and not the first, in the words that we look for", () => {
  const answers = ["v2", "v1"].map(
    (version) =>
      readJsonRecording<{ response: { code: number; log: string } }>(
        `chain/queries/akash.oracle.${version}.Query.Params.json`,
      ).response,
  );
  assert.equal(answers[0]?.code, 0);
  assert.ok(oldest?.rejection?.test(answers[1]?.log ?? ""));
});

async function openOracle(t: TestContext): Promise<{ oracle: OracleState; pool: Pool }> {
  const oracle = createOracleState(atMs);
  const node = createEmbeddedNode({
    chainId: "oracle-1",
    accounts: [],
    clock: realClock,
    log: silentLog,
    listens: false,
  });
  await node.start();
  node.step();
  const nodes = [oracleTransport(node.transport(), oracle)];
  const pool = createPool({ nodes, clock: realClock, random: createSeededRandom(1), log: silentLog });
  t.after(async () => {
    pool.close();
    await node.stop();
  });
  await pool.open();
  return { oracle, pool };
}

test("the oracle version is detected, cached, and detected again after an upgrade", async (t) => {
  const { oracle, pool } = await openOracle(t);
  const { oraclePrice } = createQueries(pool);
  const ask = async () => {
    oracle.paths.length = 0;
    const { value } = await oraclePrice("akt");
    return [showDecimal(value.dollars), ...oracle.paths];
  };
  const [v2 = "", v1 = ""] = paths;
  assert.deepEqual(await ask(), ["0.5", v2]);
  oracle.version = "v1";
  assert.deepEqual(await ask(), ["0.5", v2, v1]);
  assert.deepEqual(await ask(), ["0.5", v1], "the older version is queried first from now on");
  oracle.version = "v2";
  assert.deepEqual(await ask(), ["0.5", v1, v2]);
  assert.deepEqual(await ask(), ["0.5", v2]);
});

test("no usable oracle price → the error has the reason, and nodes stay healthy", async (t) => {
  const { oracle, pool } = await openOracle(t);
  const { oraclePrice } = createQueries(pool);
  const rejectsWith = (reason: RegExp, denom = "akt") =>
    assert.rejects(oraclePrice(denom), { code: "AKP_CHAIN_NO_ORACLE_PRICE", message: reason });
  oracle.failures = ["price deviation too high: 200bps > 150bps"];
  await rejectsWith(/no price of akt: it does not vouch for it \(price deviation too high: 200bps > 150bps\)/);
  oracle.failures = [];
  await rejectsWith(/no price of uakt: it has none yet/, "uakt");
  oracle.atto = undefined;
  await rejectsWith(/it has none yet/);
  oracle.version = undefined;
  await rejectsWith(/this chain has no oracle that we know/);
  assert.deepEqual(
    pool.nodes.map(({ condition }) => condition),
    ["good"],
  );
  Object.assign(oracle, { ...createOracleState(atMs), broken: "panic" });
  await assert.rejects(oraclePrice("akt"), { code: "AKP_CHAIN_QUERY_REFUSED", message: /panic/ });
});

const inUakt: GroupSpec = {
  ...smallGroup,
  units: smallGroup.units.map((unit) => ({ ...unit, price: { ...unit.price, denom: "uakt" } })),
};

test("a provider prices orders in uakt by the chain's oracle, and not while that is old, unsure, or not there", async (t) => {
  await onBidStage(t, async (stage) => {
    const oracle = createOracleState(stage.clock.now());
    oracle.atto = undefined;
    const settings = priceSettings({
      ...{ "bid-price-strategy": "table", "token-price-oracle": "true" },
      ...{ "token-price-max-age": "1m", "token-price-period": "10s" },
    });
    const one = await stage.provider("one", {
      nodes: () => [oracleTransport(stage.node.transport(), oracle)],
      pricing: (deps) => createPricing({ current: settings }, deps),
    });
    const screen = async () => {
      const request = { owner: stage.signer("tenant").address, group: inUakt, reclamationWindowNs: undefined };
      const { price, checks } = await one.engine.screen(request);
      return price ? showDecCoin(price) : (checks.find(({ verdict }) => verdict === "fail")?.reason ?? "");
    };
    const said = (what: RegExp) => stage.until(`${what}`, async () => what.test(await screen()));
    const error = () => one.status()?.trouble ?? "";
    const feed = (atto: string, ageMs = 0) => Object.assign(oracle, { atto, atMs: stage.clock.now() - ageMs });

    await said(/it has none yet/);
    feed("500000000000000000");
    await said(/^\d.*uakt$/);
    const atHalf = Number.parseFloat(await screen());
    assert.equal(error(), "");

    feed("1000000000000000000", 30_000);
    await stage.until("the dearer token", async () => Number.parseFloat(await screen()) < atHalf);
    assert.ok(Math.abs(Number.parseFloat(await screen()) * 2 - atHalf) < 0.00001);
    // The oracle stands still: the price grows old by its own time, though nodes go on giving it.
    await said(/the price of AKT is of .*may be 60000 ms old at most$/);
    assert.match(error(), /no bids on orders in uakt/);

    feed("500000000000000000");
    await said(/^\d.*uakt$/);
    oracle.broken = "a query lost its footing";
    await stage.until("the error", () => /cannot be read from the chain's oracle/.test(error()));
    assert.equal(Number.parseFloat(await screen()), atHalf, "an unhealthy node keeps the last price");
    oracle.broken = undefined;
    oracle.failures = ["insufficient price sources: 1 < 2"];
    await said(
      /^the chain's oracle has no price of akt: it does not vouch for it \(insufficient price sources: 1 < 2\)/,
    );
    oracle.failures = [];
    feed("500000000000000000");
    await said(/^\d.*uakt$/);
    oracle.version = undefined;
    await said(
      /^the chain's oracle .*: this chain has no oracle that we know.* set token-price-file or token-price-url instead/,
    );
  });
});

for (const [name, aheadMs] of [
  ["two hours ahead of", 7_200_000],
  ["two hours behind", -7_200_000],
] as const) {
  test(`while the local clock is ${name} the chain, the age of the oracle's price is counted in block time`, async (t) => {
    await onBidStage(t, async (stage) => {
      const oracle = createOracleState(stage.clock.now());
      const settings = priceSettings({
        ...{ "bid-price-strategy": "table", "token-price-oracle": "true" },
        ...{ "token-price-max-age": "10m", "token-price-period": "10s" },
      });
      const started = startProvider({
        clock: { ...stage.clock, now: () => stage.clock.now() + aheadMs },
        cluster: stage.cluster,
        dir: memoryFolder(t),
        node: { transport: () => oracleTransport(stage.node.transport(), oracle) },
        pricing: (deps) => createPricing({ current: settings }, deps),
        signer: stage.signer("one"),
      });
      try {
        const one = await started.ready;
        const isPriced = () => !/no bids on orders in uakt/.test(one.status()?.trouble ?? "");
        await stage.until("a price", isPriced);
        oracle.atMs -= 600_000;
        await stage.until("it is too old", () => !isPriced());
      } finally {
        await started.stop();
      }
    });
  });
}
