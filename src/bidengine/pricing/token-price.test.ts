import assert from "node:assert/strict";
import { once } from "node:events";
import { unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { createVirtualClock, type VirtualClock } from "../../../test/support/virtual-clock.ts";
import { showDecimal } from "../../market/decimal.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import type { PriceSettings } from "./pricing.ts";
import {
  createTokenPrice,
  readTokenPrice,
  readTokenTime,
  type TokenPrice,
  tokenPriceAnswerMs,
  tokenPriceBytes,
} from "./token-price.ts";

const hour = 3_600_000;
/** Nothing here comes from it. */
const noChain = new Promise<never>(() => undefined);

function follow(t: TestContext, settings: Partial<PriceSettings>): { token: TokenPrice; clock: VirtualClock } {
  const clock = createVirtualClock();
  const none = {
    tokenPriceFile: undefined,
    tokenPriceUrl: undefined,
    tokenPriceOracle: false,
    tokenPriceField: undefined,
    tokenPriceTimeField: undefined,
  };
  const times = { tokenPriceMaxAgeMs: hour, tokenPricePeriodMs: 300_000 };
  const token = createTokenPrice({ ...none, ...times, ...settings }, { chain: noChain, clock, log: silentLog });
  const stop = new AbortController();
  const running = token.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
    assert.equal(clock.pendingTimers, 0);
  });
  return { token, clock };
}

function shown(token: TokenPrice): string {
  const answer = token.answer();
  return answer.price ? showDecimal(answer.price) : answer.why;
}

test("token price → read alone or at a path in JSON; invalid input → an error that quotes it", () => {
  assert.equal(showDecimal(readTokenPrice(" 0.4231\n", undefined)), "0.4231");
  assert.equal(showDecimal(readTokenPrice('{"akash-network":{"usd":0.42}}', "akash-network.usd")), "0.42");
  assert.equal(showDecimal(readTokenPrice('[{"price":"3.25"}]', "0.price")), "3.25");
  assert.equal(showDecimal(readTokenPrice("0.12345678901234567899", undefined)), "0.123456789012345678");
  const cases: [string, string | undefined, RegExp][] = [
    ["", undefined, /"" is no price/],
    ["about one", undefined, /"about one" is no price/],
    ["-1", undefined, /no price/],
    ["0", undefined, /not between/],
    ["1000001", undefined, /not between/],
    ["1e3", undefined, /no price/],
    ["<html>", "usd", /no JSON/],
    ["{}", "usd", /nothing to read at usd/],
    ['{"usd":null}', "usd", /nothing to read at usd/],
    ['{"usd":{}}', "constructor.name", /nothing to read/],
    ["9".repeat(100_000), undefined, /no price/],
  ];
  for (const [text, field, expected] of cases) assert.throws(() => readTokenPrice(text, field), expected);
});

test("where the JSON says of what time the price is, its age is counted from then", async (t) => {
  const path = join(temporaryFolder(t), "akt.json");
  const clock = createVirtualClock();
  const oracle = (agoMs: number, written = new Date(clock.now() - agoMs).toISOString()) =>
    JSON.stringify({ aggregated_price: { median_price: "0.420000000000000000", timestamp: written } });
  writeFileSync(path, oracle(1_800_000));
  const fields = {
    tokenPriceField: "aggregated_price.median_price",
    tokenPriceTimeField: "aggregated_price.timestamp",
  };
  const { token, clock: ours } = follow(t, { tokenPriceFile: path, ...fields });
  await ours.settle();
  const answer = token.answer();
  assert.ok(answer.price);
  assert.deepEqual([showDecimal(answer.price), answer.ageMs], ["0.42", 1_800_000]);
  await ours.advance(1_900_000);
  assert.match(shown(token), /is of 2025-12-31T23:30:00.000Z/);
  assert.equal(readTokenTime('{"at": 1700000000}', "at"), 1_700_000_000_000);
  assert.throws(() => readTokenTime('{"at": "soon"}', "at"), /"soon" is no time/);
});

test("without a source there is none, and it says what to set", (t) => {
  const { token } = follow(t, {});
  assert.match(shown(token), /no price of AKT; set token-price-file, token-price-url or token-price-oracle/);
  assert.match(token.error ?? "", /no bids on orders in uakt/);
});

test("a file is read when it changes, its age is that of its last change, and an old one is no price", async (t) => {
  const path = join(temporaryFolder(t), "akt");
  const { token, clock } = follow(t, { tokenPriceFile: path });
  const write = (text: string, agoMs = 0) => {
    writeFileSync(path, text);
    utimesSync(path, (clock.now() - agoMs) / 1_000, (clock.now() - agoMs) / 1_000);
  };
  const changes: string[] = [];
  token.onChange(() => changes.push(shown(token)));
  await clock.settle();
  assert.match(shown(token), /cannot be read from .*akt: it is not there/);
  write("0.5", 600_000);
  await clock.advance(2 * followedFileMs);
  const answer = token.answer();
  assert.ok(answer.price && Math.abs(answer.ageMs - 600_000) <= 2 * followedFileMs);
  assert.equal(token.error, undefined);
  write("nonsense");
  await clock.advance(followedFileMs);
  assert.equal(shown(token), "0.5", "the last good one holds while it is young");
  assert.match(token.error ?? "", /"nonsense" is no price/);
  unlinkSync(path);
  await clock.advance(hour);
  assert.match(shown(token), /is of 2025-12-31T23:50.*may be 3600000 ms old at most; .*it is not there/);
  assert.match(token.error ?? "", /no bids on orders in uakt/);
  write("0.75");
  await clock.advance(followedFileMs);
  assert.equal(shown(token), "0.75");
  assert.deepEqual([changes[0], changes.at(-1)], ["0.5", "0.75"]);
  write("0.9", -24 * hour);
  await clock.advance(followedFileMs);
  assert.equal(shown(token), "0.75", "one from tomorrow would never be too old");
  assert.match(token.error ?? "", /it is of 2026-01-02T.*, which is yet to come/);
});

test("a URL is polled at its period; a failure keeps the last good price", async (t) => {
  let answer: { status?: number; body?: string; hang?: true } = { body: '{"usd": 0.5}' };
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (answer.hang) return;
    response.writeHead(answer.status ?? 200, answer.status === 302 ? { location: "http://elsewhere.invalid/" } : {});
    response.end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/price?key=secret`;
  const { token, clock } = follow(t, { tokenPriceUrl: url, tokenPriceField: "usd" });
  await eventually("the first price", () => shown(token) === "0.5");
  await clock.advance(299_000);
  assert.equal(requests, 1);
  answer = { body: '{"usd": 0.6}' };
  await clock.advance(1_000);
  await eventually("the second price", () => shown(token) === "0.6");
  const failures: [typeof answer, RegExp][] = [
    [{ status: 503 }, /the server answered 503/],
    [{ status: 302 }, /it has moved to/],
    [{ body: "<html>" }, /no JSON/],
    [{ body: "x".repeat(tokenPriceBytes + 1) }, /longer than/],
    [{ hang: true }, /no whole answer within/],
  ];
  for (const [next, expected] of failures) {
    answer = next;
    await eventually(String(expected), async () => {
      await clock.advance(tokenPriceAnswerMs);
      return expected.test(token.error ?? "");
    });
    assert.equal(shown(token), "0.6");
    assert.doesNotMatch(token.error ?? "", /secret/);
  }
  await clock.advance(hour);
  assert.match(shown(token), /the price of AKT is of .*no whole answer/);
  answer = { body: '{"usd": 0.7}' };
  await eventually("that it is back", async () => {
    await clock.advance(tokenPriceAnswerMs);
    return shown(token) === "0.7";
  });
});
