import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../../test/support/runs.ts";
import { parseDecimal } from "../../../../market/decimal.ts";
import type { EscrowAccount, Payment } from "./records.ts";
import { earned, settle } from "./settlement.ts";

/** A rate as an exact fraction, and as the text that the chain reads. */
interface Rate {
  readonly numerator: bigint;
  readonly denominator: bigint;
  readonly text: string;
}

const rates = fc.tuple(fc.bigInt(0n, 10n ** 24n), fc.integer({ min: 0, max: 18 })).map(([numerator, digits]): Rate => {
  const text = numerator.toString().padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits);
  return {
    numerator,
    denominator: 10n ** BigInt(digits),
    text: digits === 0 ? whole : `${whole}.${text.slice(-digits)}`,
  };
});

function accountWith(deposits: readonly bigint[]): EscrowAccount {
  const total = deposits.reduce((sum, amount) => sum + amount, 0n);
  return {
    key: "deployment/tenant/1",
    owner: "tenant",
    state: "open",
    transferred: [{ denom: "uact", amount: 0n }],
    settledAt: 1n,
    funds: [{ denom: "uact", amount: total }],
    deposits: deposits.map((amount, index) => ({
      owner: `giver${index}`,
      height: 1n,
      source: "balance",
      balance: { denom: "uact", amount },
    })),
  };
}

function paymentAt({ text }: Rate, index = 0): Payment {
  return {
    key: `deployment/tenant/1/1/1/provider${index}`,
    owner: `provider${index}`,
    state: "open",
    rate: { denom: "uact", amount: parseDecimal(text) },
    balance: 0n,
    unsettled: 0n,
    withdrawn: 0n,
  };
}

/** Whole coins of an exact fraction. */
function wholeCoins({ numerator, denominator }: Rate, blocks: bigint): bigint {
  return (numerator * blocks) / denominator;
}

test("what is earned is the exact product of rate and blocks without its fraction", () => {
  fc.assert(
    fc.property(rates, fc.bigInt(0n, 10n ** 9n), (rate, blocks) => {
      assert.equal(earned(paymentAt(rate), blocks), wholeCoins(rate, blocks));
    }),
    { numRuns: runs(500, 100_000) },
  );
});

const deposits = fc.array(fc.bigInt(1n, 10n ** 15n), { minLength: 1, maxLength: 5 });

test("a settlement moves exactly what is due, payment by payment, out of the oldest deposits first", () => {
  fc.assert(
    fc.property(deposits, fc.array(rates, { maxLength: 4 }), fc.bigInt(1n, 10n ** 6n), (given, owed, blocks) => {
      const { account, payments, overdrawn } = settle(accountWith(given), owed.map(paymentAt), blocks);
      const total = given.reduce((sum, amount) => sum + amount, 0n);
      const dues = owed.map((rate) => wholeCoins(rate, blocks));
      let left = total;
      const paid = dues.map((due) => {
        const share = due < left ? due : left;
        left -= share;
        return share;
      });
      const spent = total - left;
      assert.deepEqual(
        payments.map(({ balance }) => balance),
        paid,
      );
      assert.deepEqual(
        payments.map(({ unsettled }) => unsettled),
        dues.map((due, index) => due - (paid[index] ?? 0n)),
      );
      assert.equal(account.funds[0]?.amount, total - dues.reduce((sum, due) => sum + due, 0n));
      assert.equal(account.transferred[0]?.amount, spent);
      assert.equal(
        overdrawn,
        dues.some((due, index) => due !== paid[index]),
      );
      assert.equal(account.state, overdrawn ? "overdrawn" : "open");
      assert.ok(payments.every(({ state }) => state === account.state));
      // The deposits that are left are the newest ones, and only the first of them has been touched.
      const rest = account.deposits.map(({ balance }) => balance.amount);
      assert.equal(
        rest.reduce((sum, amount) => sum + amount, 0n),
        left,
      );
      assert.deepEqual(rest.slice(1), rest.length > 1 ? given.slice(-rest.length + 1) : []);
    }),
    { numRuns: runs(500, 50_000) },
  );
});

test("money that comes later pays what was owed and earns nothing new", () => {
  const rate = { numerator: 7n, denominator: 2n, text: "3.5" };
  const first = settle(accountWith([10n]), [paymentAt(rate)], 5n);
  assert.equal(first.payments[0]?.unsettled, 7n);
  assert.equal(first.account.funds[0]?.amount, -7n);
  const funded = { ...accountWith([4n]), state: first.account.state };
  const second = settle(funded, first.payments, 0n);
  assert.deepEqual([second.payments[0]?.balance, second.payments[0]?.unsettled], [14n, 3n]);
  assert.equal(second.overdrawn, true);
  const third = settle(accountWith([5n]), second.payments, 0n);
  assert.deepEqual([third.payments[0]?.balance, third.payments[0]?.unsettled], [17n, 0n]);
  assert.deepEqual([third.overdrawn, third.payments[0]?.state, third.account.funds[0]?.amount], [false, "open", 2n]);
});

test("another denom's deposits are left alone", () => {
  const uakt = { owner: "giver", height: 1n, source: "balance", balance: { denom: "uakt", amount: 9n } } as const;
  const mixed = { ...accountWith([10n]), deposits: [uakt, ...accountWith([10n]).deposits] };
  const rate = { numerator: 4n, denominator: 1n, text: "4" };
  const { account } = settle(mixed, [paymentAt(rate)], 2n);
  assert.deepEqual(
    account.deposits.map(({ balance }) => balance),
    [
      { denom: "uakt", amount: 9n },
      { denom: "uact", amount: 2n },
    ],
  );
});

/** An account with 10 uact and some uakt that owes 5 × 4 uact, settled while no uact is made. */
function rescued(uakt: bigint, price: string) {
  const deposit = { owner: "giver", height: 1n, source: "balance", balance: { denom: "uakt", amount: uakt } } as const;
  const base = accountWith([10n]);
  const mixed: EscrowAccount = {
    ...base,
    funds: [...base.funds, { denom: "uakt", amount: uakt }],
    transferred: [...base.transferred, { denom: "uakt", amount: 0n }],
    deposits: uakt > 0n ? [...base.deposits, deposit] : base.deposits,
  };
  const rate = { numerator: 4n, denominator: 1n, text: "4" };
  const { account, payments, overdrawn, transfers } = settle(mixed, [paymentAt(rate)], 5n, parseDecimal(price));
  const [payment] = payments;
  return {
    overdrawn,
    states: [account.state, payment?.state],
    earned: [
      payment?.balance,
      payment?.unsettled,
      ...transfers.map(({ to, coin }) => `${coin.amount}${coin.denom} to ${to}`),
    ],
    funds: account.funds.map(({ amount }) => amount),
    left: account.deposits.map(({ balance }) => balance.amount),
  };
}

test("while no uact is made, uakt of the account pays what is owed at its price, and the debt stays in the books", () => {
  assert.deepEqual(rescued(100n, "0.5"), {
    overdrawn: false,
    states: ["open", "open"],
    earned: [10n, 0n, "20uakt to provider0"],
    funds: [-10n, 80n],
    left: [80n],
  });
});

test("uakt that is not enough pays what it can, and the account is overdrawn with the rest", () => {
  assert.deepEqual(rescued(5n, "0.5"), {
    overdrawn: true,
    states: ["overdrawn", "overdrawn"],
    earned: [10n, 8n, "5uakt to provider0"],
    funds: [-10n, 0n],
    left: [],
  });
  assert.deepEqual(rescued(0n, "0.5").earned, [10n, 10n]);
});

test("at a price that does not divide what is owed, the last digit decides whether the debt counts as paid", () => {
  assert.deepEqual(rescued(100n, "3").earned, [10n, 1n, "3uakt to provider0"], "9.999999999999999999 of 10 paid");
  assert.deepEqual(rescued(100n, "3").overdrawn, true);
  assert.deepEqual(rescued(100n, "1.5").earned, [10n, 0n, "6uakt to provider0"], "10.000000000000000001 of 10 paid");
});
