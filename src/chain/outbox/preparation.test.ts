import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/runs.ts";
import { createStamps, outboxStampMs } from "./preparation.ts";

const startMs = 1_800_000_000_000;
const ns = (ms: number) => BigInt(ms) * 1_000_000n;
const tenMinutesNs = ns(600_000);

test("stamps only ever grow, and lie in the future within what the chain takes, however the clocks differ", () => {
  const moment = fc.record({
    chainStepMs: fc.constantFrom(0, 1, 1_000, 6_000, 3_600_000),
    ourSkewMs: fc.integer({ min: -7_200_000, max: 7_200_000 }),
    count: fc.integer({ min: 1, max: 5 }),
    restart: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(moment, { maxLength: 40 }), (moments) => {
      let lastNs = 0n;
      let stamps = createStamps(lastNs);
      let chainMs = startMs;
      for (const { chainStepMs, ourSkewMs, count, restart } of moments) {
        chainMs += chainStepMs;
        // The journal knows the last one.
        if (restart) stamps = createStamps(lastNs);
        for (let each = 0; each < count; each++) {
          const head = { height: 1n, timeNs: ns(chainMs) };
          const stampNs = stamps.next(head, chainMs + ourSkewMs) as bigint;
          assert.ok(stampNs > lastNs, "never the same twice");
          assert.ok(stampNs > head.timeNs, "not passed already");
          assert.ok(stampNs <= head.timeNs + tenMinutesNs, "not further ahead than the chain takes");
          lastNs = stampNs;
        }
      }
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("after a halt of the chain stamps reckon with our clock, so that the next block does not find them passed", () => {
  const stamps = createStamps(0n);
  const nowMs = startMs + 300_000;
  assert.equal(stamps.next({ height: 1n, timeNs: ns(startMs) }, nowMs), ns(nowMs + outboxStampMs));
});

test("a chain whose time went back gets no stamp that it would refuse", () => {
  const stamps = createStamps(ns(startMs));
  const head = { height: 1n, timeNs: ns(startMs - 3_600_000) };
  assert.equal(stamps.next(head, startMs), undefined);
  assert.notEqual(stamps.next({ height: 2n, timeNs: ns(startMs) }, startMs), undefined);
});

test("an expiry bounds the stamp, and still none is used twice", () => {
  const head = { height: 1n, timeNs: ns(startMs) };
  const inUse = ns(startMs + 20_000);
  const stamps = createStamps(ns(startMs), [inUse]);
  const latest = [undefined, inUse, undefined, inUse, ns(startMs + 10_000), ns(startMs + outboxStampMs), undefined];
  const used = latest.map((latestNs) => stamps.next(head, startMs, latestNs));
  assert.equal(new Set([inUse, ...used]).size, latest.length + 1);
  for (const [index, latestNs] of latest.entries()) {
    if (latestNs !== undefined) assert.ok((used[index] ?? 0n) <= latestNs);
  }
});
