import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import { createTimeouts, outboxTimeoutMs } from "./preparation.ts";

const startMs = 1_800_000_000_000;
const ns = (ms: number) => BigInt(ms) * 1_000_000n;
const tenMinutesNs = ns(600_000);

test("timeouts only ever grow, and lie in the future within what the chain takes, however the clocks differ", () => {
  const moment = fc.record({
    chainStepMs: fc.constantFrom(0, 1, 1_000, 6_000, 3_600_000),
    ourSkewMs: fc.integer({ min: -7_200_000, max: 7_200_000 }),
    count: fc.integer({ min: 1, max: 5 }),
    restart: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(moment, { maxLength: 40 }), (moments) => {
      let lastNs = 0n;
      let timeouts = createTimeouts(lastNs);
      let chainMs = startMs;
      for (const { chainStepMs, ourSkewMs, count, restart } of moments) {
        chainMs += chainStepMs;
        // The journal knows the last one.
        if (restart) timeouts = createTimeouts(lastNs);
        for (let each = 0; each < count; each++) {
          const head = { height: 1n, timeNs: ns(chainMs) };
          const timeoutNs = timeouts.next(head, chainMs + ourSkewMs) as bigint;
          assert.ok(timeoutNs > lastNs, "never the same twice");
          assert.ok(timeoutNs > head.timeNs, "not passed already");
          assert.ok(timeoutNs <= head.timeNs + tenMinutesNs, "not further ahead than the chain takes");
          lastNs = timeoutNs;
        }
      }
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("after a halt of the chain timeouts reckon with our clock, so that the next block does not find them passed", () => {
  const timeouts = createTimeouts(0n);
  const nowMs = startMs + 300_000;
  assert.equal(timeouts.next({ height: 1n, timeNs: ns(startMs) }, nowMs), ns(nowMs + outboxTimeoutMs));
});

test("a chain whose time went back gets no timeout timestamp that it would reject", () => {
  const timeouts = createTimeouts(ns(startMs));
  const head = { height: 1n, timeNs: ns(startMs - 3_600_000) };
  assert.equal(timeouts.next(head, startMs), undefined);
  assert.notEqual(timeouts.next({ height: 2n, timeNs: ns(startMs) }, startMs), undefined);
});

test("an expiry bounds the timeout timestamp, and still none is used twice", () => {
  const head = { height: 1n, timeNs: ns(startMs) };
  const inUse = ns(startMs + 20_000);
  const timeouts = createTimeouts(ns(startMs), [inUse]);
  const latest = [undefined, inUse, undefined, inUse, ns(startMs + 10_000), ns(startMs + outboxTimeoutMs), undefined];
  const used = latest.map((latestNs) => timeouts.next(head, startMs, latestNs));
  assert.equal(new Set([inUse, ...used]).size, latest.length + 1);
  for (const [index, latestNs] of latest.entries()) {
    if (latestNs !== undefined) assert.ok((used[index] ?? 0n) <= latestNs);
  }
});
