import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type Log, silentLog } from "../../runtime/log.ts";
import { createClockCheck, rpcClockSkewBlocks, rpcClockSkewMs } from "./block-times.ts";

function stage() {
  const clock = createVirtualClock();
  const trueNs = () => BigInt(clock.now()) * 1_000_000n;
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const log: Log = { ...silentLog, info: note, warn: note };
  const check = createClockCheck(clock, log);
  return { clock, logged, trueNs, see: check.note, doubt: () => check.doubt?.message };
}

for (const [direction, skewMs] of [
  ["ahead of", rpcClockSkewMs + 1_000],
  ["behind", -rpcClockSkewMs - 1_000],
] as const) {
  test(`a clock that is ${direction} the blocks is logged once, and again when it is correct`, () => {
    const { clock, logged, trueNs, see, doubt } = stage();
    const blockNs = trueNs();
    clock.jump(skewMs);
    for (let seen = 1; seen < rpcClockSkewBlocks; seen += 1) see(blockNs);
    assert.equal(doubt(), undefined, "a few blocks prove nothing");
    for (let seen = 0; seen < 3; seen += 1) see(blockNs);
    assert.match(doubt() ?? "", new RegExp(`local clock is 31 s ${direction}`));
    clock.jump(-skewMs);
    see(blockNs);
    assert.equal(doubt(), undefined);
    assert.deepEqual(logged, ["local clock differs from block time", "local clock agrees with block time again"]);
  });
}

test("one old block among fresh ones, as after a halt of the chain, is no reason to doubt the clock", () => {
  const { logged, trueNs, see, doubt } = stage();
  for (let seen = 0; seen < 20; seen += 1) see(seen % 2 === 0 ? trueNs() : trueNs() - 3_600_000_000_000n);
  assert.deepEqual([doubt(), logged], [undefined, []]);
});
