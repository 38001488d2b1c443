import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/support/runs.ts";
import type { EscrowAccount, Payment } from "../box/chain/modules/escrow/records.ts";
import { settle } from "../box/chain/modules/escrow/settlement.ts";
import type { Coin } from "./coin.ts";
import { decimalFromAtto, decimalOf, parseDecimal } from "./decimal.ts";
import { type Drawn, settleAt, spentAt } from "./escrow-arithmetic.ts";

const denoms = ["uact", "uakt"] as const;

interface Case {
  readonly funds: readonly Coin[];
  readonly rates: readonly { readonly denom: string; readonly atto: bigint }[];
}

/** From 10⁻¹⁸ per block to more than there is. */
const attos = fc
  .tuple(fc.integer({ min: 0, max: 24 }), fc.bigInt(1n, 999n))
  .map(([zeros, digits]) => digits * 10n ** BigInt(zeros));
const cases: fc.Arbitrary<Case> = fc.record({
  funds: fc
    .tuple(fc.bigInt(0n, 10n ** 12n), fc.bigInt(0n, 10n ** 4n))
    .map((amounts) => amounts.map((amount, index) => ({ denom: denoms[index] ?? "", amount }))),
  rates: fc.array(fc.record({ denom: fc.constantFrom(...denoms), atto: attos }), { maxLength: 5 }),
});

function drawn({ funds, rates }: Case): Drawn {
  return {
    settledAt: 7n,
    funds: funds.map(({ denom, amount }) => ({ denom, amount: decimalOf(amount) })),
    rates: rates.map(({ denom, atto }) => ({ denom, amount: decimalFromAtto(atto) })),
  };
}

/** The same account as the embedded chain has it. */
function settledByChain({ funds, rates }: Case, blocks: bigint) {
  const account: EscrowAccount = {
    key: "deployment/tenant/1",
    owner: "tenant",
    state: "open",
    transferred: [],
    settledAt: 7n,
    funds,
    deposits: funds.map((balance) => ({ owner: "tenant", height: 1n, source: "balance", balance })),
  };
  const payments = rates.map(
    ({ denom, atto }, index): Payment => ({
      key: `deployment/tenant/1/1/1/provider${index}`,
      owner: `provider${index}`,
      state: "open",
      rate: { denom, amount: decimalFromAtto(atto) },
      balance: 0n,
      unsettled: 0n,
      withdrawn: 0n,
    }),
  );
  const { payments: after, overdrawn } = settle(account, payments, blocks);
  return { paid: after.map(({ balance }) => balance), overdrawn };
}

test("a settlement at any height pays and overdraws as the chain's own does", () => {
  fc.assert(
    fc.property(cases, fc.bigInt(0n, 10n ** 9n), (each, blocks) => {
      assert.deepEqual(settleAt(drawn(each), 7n + blocks), settledByChain(each, blocks));
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("the predicted height is the first at which the chain overdraws the account", () => {
  fc.assert(
    fc.property(cases, (each) => {
      const height = spentAt(drawn(each));
      if (height === undefined) return assert.equal(settledByChain(each, 2n ** 63n - 8n).overdrawn, false);
      assert.equal(settledByChain(each, height - 7n).overdrawn, true);
      assert.equal(settledByChain(each, height - 8n).overdrawn, false);
    }),
    { numRuns: runs(300, 20_000) },
  );
});

const uact = (rate: string) => ({ denom: "uact", amount: parseDecimal(rate) });
const account = (funds: string, ...rates: ReturnType<typeof uact>[]): Drawn => ({
  funds: [uact(funds)],
  settledAt: 100n,
  rates,
});

test("money that is used up to the last coin is not overdrawn; the next coin is", () => {
  assert.equal(spentAt(account("1000", uact("10"))), 201n);
  assert.equal(settleAt(account("1000", uact("10")), 200n).overdrawn, false);
});

test("payments to another provider end an account sooner, and the last in order gets less", () => {
  const shared = account("1000", uact("10"), uact("90"));
  assert.equal(spentAt(shared), 111n);
  assert.deepEqual(settleAt(shared, 115n), { paid: [150n, 850n], overdrawn: true });
});

test("an account is spent when one of its denominations is", () => {
  const both = { ...account("1000000", uact("1")), funds: [uact("1000000"), { ...uact("5"), denom: "uakt" }] };
  const rates = [...both.rates, { ...uact("1"), denom: "uakt" }];
  assert.equal(spentAt({ ...both, rates }), 106n);
  assert.equal(spentAt({ ...both, rates: [{ ...uact("1"), denom: "ibc/none" }] }), 101n);
});

test("an account that owes already is spent and pays nothing; where nothing draws, none ever is", () => {
  assert.equal(spentAt(account("-1", uact("1"))), 100n);
  assert.deepEqual(settleAt(account("-1", uact("1")), 200n), { paid: [0n], overdrawn: true });
  assert.equal(spentAt(account("0")), undefined);
  assert.equal(spentAt(account("5", uact("0"))), undefined);
});

test("the lowest rate is computed exactly; an account that outlasts the chain's heights is never spent", () => {
  const least = uact("0.000000000000000001");
  assert.equal(spentAt(account("5", least)), 100n + 6n * 10n ** 18n);
  assert.equal(spentAt(account("9", least)), undefined);
  assert.equal(spentAt(account(`${2n ** 255n}`, least, uact("1"))), undefined);
});
