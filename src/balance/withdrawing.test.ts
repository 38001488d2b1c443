import assert from "node:assert/strict";
import { test } from "node:test";
import type { Intent } from "../journal/intents.ts";
import { bridgedDollars, parseCoin, parseCoins, parseDecCoin } from "../market/coin.ts";
import { parseDecimal } from "../market/decimal.ts";
import {
  decideOnEscrow,
  type EscrowQuestion,
  pausedUntilMs,
  settlingPauseMostMs,
  type Terms,
  timeAt,
} from "./withdrawals.ts";

const minute = 60_000;
const day = 1_440 * minute;
const nowMs = 100 * day;

const terms: Terms = {
  periodMs: day,
  threshold: parseCoins("100000uact,100000uakt"),
  fee: parseCoin("5000uakt"),
  tokenPrice: parseDecimal("0.5"),
  blockTimeMs: 6_000,
};

/** One lease that earns 10 of it a block, last withdrawn from so long ago. */
function owed(coin: string, agoMs = 0, spentAt = 9_999n): EscrowQuestion {
  const { denom, amount } = parseCoin(coin);
  const lease = { lease: "ours", rate: parseDecCoin(`10${denom}`), owed: amount, lastMs: nowMs - agoMs };
  return { height: 1_000n, timeMs: nowMs, spentAt, owes: false, leases: [lease] };
}

const cases: readonly { what: string; question: EscrowQuestion; with?: Partial<Terms>; comes: string | number }[] = [
  // In the denomination of the fee: a hundred times 5,000uakt.
  { what: "a hundred times the fee comes home", question: owed("500000uakt"), comes: "500000uakt is worth 100 times" },
  { what: "less than that waits for it", question: owed("499990uakt"), comes: 6_000 },
  { what: "also without any price", question: owed("500000uakt"), with: { tokenPrice: undefined }, comes: "is worth" },
  // In dollars: 5,000uakt are 2,500uact.
  { what: "dollars are compared at the price", question: owed("250000uact"), comes: "250000uact is worth 100 times" },
  { what: "and a coin less waits", question: owed("249999uact"), comes: 6_000 },
  { what: "after the period, what exceeds the fee", question: owed("2501uact", day), comes: "the withdrawal period" },
  { what: "what only equals the fee does not", question: owed("2500uact", day), comes: 6_000 },
  { what: "before the period is over it waits", question: owed("9000uact", day - 30_000), comes: 30_000 },
  {
    what: "with no period, only the hundredfold",
    question: owed("249999uact", 9 * day),
    with: { periodMs: 0 },
    comes: 6_000,
  },
  // Without a token price.
  {
    what: "the threshold decides",
    question: owed("100000uact", day),
    with: { tokenPrice: undefined },
    comes: "reaches",
  },
  { what: "after the period", question: owed("200000uact"), with: { tokenPrice: undefined }, comes: day },
  {
    what: "or at once where there is none",
    question: owed("100000uact"),
    with: { tokenPrice: undefined, periodMs: 0 },
    comes: "100000uact reaches the threshold of 100000uact",
  },
  { what: "with a fee grant", question: owed("100000uact", day), with: { fee: undefined }, comes: "reaches" },
  {
    what: "with a fee grant, bridged dollars have a default threshold",
    question: owed(`100000${bridgedDollars[0]}`, day),
    with: { fee: undefined },
    comes: "reaches the threshold of 100000ibc/170C",
  },
  { what: "and so has any other denomination", question: owed("99990ibc/ABC", day), comes: 6_000 },
  {
    what: "a named one comes before that",
    question: owed("900000ibc/ABC", day),
    with: { threshold: parseCoins("900010ibc/ABC") },
    comes: 6_000,
  },
];

for (const { what, question, with: other, comes } of cases) {
  test(`worth its fee: ${what}`, () => {
    const verdict = decideOnEscrow(question, { ...terms, ...other });
    if (typeof comes === "string") assert.match(verdict.kind === "withdraw" ? verdict.why : "", new RegExp(comes));
    else assert.deepEqual(verdict, { kind: "wait", untilMs: nowMs + comes });
  });
}

test("a spent escrow is settled whatever that brings, through the lease that is owed most", () => {
  const [poor] = owed("0uact").leases;
  assert.ok(poor);
  const leases = [poor, { ...poor, lease: "richer", owed: 3n }];
  const verdict = decideOnEscrow({ ...owed("0uact", 0, 990n), leases }, terms);
  assert.deepEqual(verdict, {
    kind: "settle",
    lease: "richer",
    why: "the escrow is spent since height 990: settling it ends the lease",
    fellDueMs: nowMs - 60_000,
    mostPauseMs: settlingPauseMostMs,
  });
  assert.equal(decideOnEscrow({ ...owed("0uact", 0, 1_001n), leases }, terms).kind, "wait");
});

test("a tenant who tops up only before a settlement does not get the pause of an account that cannot be closed", () => {
  const spent = { ...owed("0uact", 0, 990n), owes: false };
  const pauseOf = (question: EscrowQuestion) => {
    const verdict = decideOnEscrow(question, terms);
    return verdict.kind === "wait" ? undefined : verdict.mostPauseMs;
  };
  assert.deepEqual([pauseOf(spent), pauseOf({ ...spent, owes: true })], [60 * minute, day]);
  const wasted = Array(40).fill(landed("done", 0, 1_000));
  assert.equal(pausedUntilMs(wasted, 60 * minute, 2_000), 1_000 + 60 * minute);
});

test("verdicts have the time at which they fell due", () => {
  const since = (question: EscrowQuestion) => {
    const verdict = decideOnEscrow(question, terms);
    return verdict.kind === "wait" ? undefined : nowMs - verdict.fellDueMs;
  };
  assert.equal(since(owed("500100uakt")), 60_000, "ten blocks since it was worth a hundred times the fee");
  assert.equal(since(owed("20000uakt", day + minute)), minute);
});

function landed(state: Intent["state"], priority: number, settledAtMs: number): Intent {
  return { id: 1, what: "withdrawLease", subject: "", why: "", body: {}, priority, state, filedAtMs: 0, settledAtMs };
}

test("each failed withdrawal doubles the pause, and a successful one ends it", () => {
  const wasted = landed("done", 0, 1_000);
  const paused = (...withdrawals: Intent[]) => pausedUntilMs(withdrawals, day, 2_000);
  assert.equal(paused(), undefined);
  assert.equal(paused(wasted), 1_000 + 10 * minute);
  assert.equal(paused(wasted, landed("failed", 30, 0)), 1_000 + 20 * minute);
  assert.equal(paused(wasted, landed("cancelled", 30, 0), wasted, wasted), 1_000 + 40 * minute);
  assert.equal(paused(wasted, landed("done", 30, 0), wasted), 1_000 + 10 * minute);
  assert.equal(paused(landed("done", 30, 0), wasted), undefined);
  assert.equal(paused(...Array(40).fill(wasted)), 1_000 + day);
  assert.equal(pausedUntilMs([wasted], day, 1_000 + 10 * minute), undefined, "it is over");
  assert.equal(pausedUntilMs([wasted], day, 999), undefined, "the clock was set back");
});

test("when an escrow runs out can be written however late that is", () => {
  const late = timeAt(2n ** 63n - 1n, { height: 1n, timeMs: nowMs }, terms);
  assert.match(new Date(late).toISOString(), /^\+275760/);
});
