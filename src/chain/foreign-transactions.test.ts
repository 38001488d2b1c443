import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { msToNs } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import type { AbciEvent } from "./comet/events.ts";
import { createForeignTransactions } from "./foreign-transactions.ts";

const [us, tenant] = ["akash1us", "akash1tenant"] as const;

function event(type: string, values: Readonly<Record<string, string>>): AbciEvent {
  return { type, attributes: Object.entries(values).map(([key, value]) => ({ key, value })) };
}

const fee = (payer: string) => event("tx", { fee: "12500uakt", fee_payer: payer });
const message = (action: string, sender: string) =>
  event("message", { action, sender, module: "market", msg_index: "0" });

for (const [name, { events, code = 0, hash = "FOREIGN", agoMs = 0 }, expected] of [
  [
    "a bid",
    { events: [fee(us), message("/akash.market.v1beta5.MsgCreateBid", us)] },
    /FOREIGN of our key \(MsgCreateBid\)/,
  ],
  ["a close", { events: [fee(us), message("/akash.market.v1beta5.MsgCloseBid", us)] }, /\(MsgCloseBid\)/],
  [
    "a withdrawal",
    { events: [fee(us), message("/akash.market.v1beta6.MsgWithdrawLease", us)] },
    /\(MsgWithdrawLease\)/,
  ],
  [
    "the start of a reclamation",
    { events: [fee(us), message("/akash.market.v1beta5.MsgLeaseStartReclaim", us)] },
    /\(MsgLeaseStartReclaim\)/,
  ],
  ["one that failed", { events: [fee(us)], code: 5 }, /\(one that failed\)/],
  ["one that failed before the start", { events: [fee(us)], code: 5, agoMs: 1 }, undefined],
  ["our own bid", { events: [message("/akash.market.v1beta5.MsgCreateBid", us)], hash: "OURS" }, undefined],
  ["our own that failed", { events: [fee(us)], code: 5, hash: "OURS" }, undefined],
  ["coins that a person sent", { events: [fee(us), message("/cosmos.bank.v1beta1.MsgSend", us)] }, undefined],
  [
    "the bid of another account",
    { events: [fee(tenant), message("/akash.market.v1beta5.MsgCreateBid", tenant)] },
    undefined,
  ],
  ["one of another account that failed", { events: [fee(tenant)], code: 5 }, undefined],
] as [string, Sample, RegExp | undefined][]) {
  test(`${name} ${expected ? "is reported as" : "is not"} a transaction of another provider with our key`, () => {
    const clock = createVirtualClock();
    // The local clock is behind.
    const startedNs = msToNs(clock.now() + 3_600_000);
    const foreign = createForeignTransactions(us as never, (hash) => hash === "OURS", startedNs, clock, silentLog);
    const block = { timeNs: startedNs + msToNs(1 - 2 * agoMs), txs: [{ hash, code, events }] };
    foreign.onStep({ block: block as never });
    assert.equal(foreign.message === undefined, expected === undefined, foreign.message);
    if (expected) assert.match(foreign.message ?? "", expected);
  });
}

interface Sample {
  readonly events: readonly AbciEvent[];
  readonly code?: number;
  readonly hash?: string;
  readonly agoMs?: number;
}
