import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MsgSend,
  QueryAllBalancesRequest,
  QueryAllBalancesResponse,
  QuerySendEnabledRequest,
  QuerySendEnabledResponse,
  QuerySupplyOfRequest,
  QuerySupplyOfResponse,
  QueryTotalSupplyResponse,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import fc from "fast-check";
import { testKey } from "../../../../../test/support/chain-signing.ts";
import {
  alice,
  bob,
  carol,
  createTestApp,
  second,
  sendMessage,
  type TestApp,
} from "../../../../../test/support/embedded-app.ts";
import { runs } from "../../../../../test/support/runs.ts";
import { createContext } from "../../context.ts";
import { createStore } from "../../store.ts";
import { moduleAddress } from "../auth/accounts.ts";
import { assertSupply, balanceTable, issue } from "./balances.ts";

test("a transfer moves money and creates the recipient's account", () => {
  const chain = createTestApp([alice, bob]);
  const before = chain.balance(alice.address);
  assert.throws(() => chain.account(carol.address), /NotFound desc = account akash1\w+ not found: key not found$/);
  assert.equal(chain.deliver(chain.sign(alice, [sendMessage(alice.address, carol.address, 7)])).code, 0);
  assert.equal(chain.balance(carol.address), 7n);
  assert.equal(chain.balance(alice.address), before - 7n - 20_000n);
  assert.ok(chain.account(carol.address).number > 0n);
});

test("an account that gave everything away holds nothing, not zero of something", () => {
  const coins = ["uakt", "ufoo"].map((denom) => ({ denom, amount: 1_000_000n }));
  const chain = createTestApp([], { accounts: [{ address: alice.address, coins }] });
  chain.deliver(chain.sign(alice, [sendMessage(alice.address, bob.address, 1_000_000, "ufoo")]));
  const request = QueryAllBalancesRequest.encode(
    QueryAllBalancesRequest.fromPartial({ address: alice.address }),
  ).finish();
  const { balances } = QueryAllBalancesResponse.decode(chain.query("/cosmos.bank.v1beta1.Query/AllBalances", request));
  assert.deepEqual(
    balances.map(({ denom }) => denom),
    ["uakt"],
  );
});

test("what deployments are paid with cannot be sent, not even by those who have none", () => {
  const chain = createTestApp([alice]);
  const rejected = [1n, 10n ** 30n].map((amount) => {
    const { code, codespace, log } = chain.deliver(
      chain.sign(alice, [sendMessage(alice.address, bob.address, amount, "uact")]),
    );
    return [codespace, code, log.replace("failed to execute message; message index: 0: ", "")];
  });
  const expected = ["bank", 5, "uact transfers are currently disabled: send transactions are disabled"];
  assert.deepEqual(rejected, [expected, expected]);
  const path = "/cosmos.bank.v1beta1.Query/SendEnabled";
  const listed = (denoms: string[]) => {
    const request = QuerySendEnabledRequest.encode(QuerySendEnabledRequest.fromPartial({ denoms })).finish();
    return QuerySendEnabledResponse.decode(chain.query(path, request)).sendEnabled;
  };
  const uact = { denom: "uact", enabled: false };
  assert.deepEqual(listed([]), [uact, { denom: "uakt", enabled: true }]);
  assert.deepEqual(listed(["ufoo", "uact"]), [uact]);
});

test("a transfer into a module account is rejected", () => {
  const chain = createTestApp([alice]);
  const escrow = moduleAddress("escrow");
  const result = chain.deliver(chain.sign(alice, [sendMessage(alice.address, escrow, 1)]));
  assert.equal(result.code, 4);
  assert.match(result.log, new RegExp(`${escrow} is not allowed to receive funds: unauthorized$`));
});

test("amounts that are no amounts are rejected", () => {
  const chain = createTestApp([alice]);
  const send = (amount: { denom: string; amount: string }[]) => {
    const value = MsgSend.encode({ fromAddress: alice.address, toAddress: bob.address, amount }).finish();
    return chain.deliver(chain.sign(alice, [{ typeUrl: "/cosmos.bank.v1beta1.MsgSend", value }])).code;
  };
  const uakt = (amount: string) => ({ denom: "uakt", amount });
  assert.equal(send([uakt("0")]), 10);
  assert.equal(send([uakt("-1")]), 10);
  assert.equal(send([uakt("1"), uakt("1")]), 10);
  assert.equal(send([uakt("1"), { denom: "uact", amount: "1" }]), 10);
  assert.equal(send([uakt("1.5")]), 2);
});

test("the supply is what was issued", () => {
  const chain = createTestApp([alice, bob]);
  const { supply, pagination } = QueryTotalSupplyResponse.decode(chain.query("/cosmos.bank.v1beta1.Query/TotalSupply"));
  assert.deepEqual(
    supply,
    ["uact", "uakt"].map((denom) => ({ denom, amount: "20000000000000" })),
  );
  assert.equal(pagination?.total.toNumber(), 2);
  const request = QuerySupplyOfRequest.encode({ denom: "uact" }).finish();
  const { amount } = QuerySupplyOfResponse.decode(chain.query("/cosmos.bank.v1beta1.Query/SupplyOf", request));
  assert.equal(amount?.amount, "20000000000000");
});

test("money that came from nowhere or went nowhere is noticed", () => {
  const context = createContext({ chainId: "lab-1", height: 1n, timeNs: 1n }, createStore(), []);
  issue(context, alice.address, [{ denom: "uakt", amount: 5n }]);
  assertSupply(context);
  balanceTable(context).set(`${bob.address}/uakt`, { denom: "uakt", amount: 1n });
  assert.throws(() => assertSupply(context), /add up to its supply/);
  balanceTable(context).set(`${alice.address}/uakt`, { denom: "uakt", amount: 4n });
  assertSupply(context);
  balanceTable(context).set(`${alice.address}/ufoo`, { denom: "ufoo", amount: 4n });
  assert.throws(() => assertSupply(context), /has a supply/);
});

const people = ["alice", "bob", "carol", "dave"].map(testKey);
const transfer = fc.record({
  from: fc.nat(1),
  to: fc.nat(people.length - 1),
  // Often more than there is, so that many fail.
  amount: fc.bigInt(1n, 20_000_000_000_000n),
  denom: fc.constantFrom("uakt", "uact", "ufoo"),
  fee: fc.bigInt(0n, 10_000_000_000_000n),
  gas: fc.integer({ min: 30_000, max: 200_000 }),
});

test("whatever is sent and whatever fails, no money is made or lost", () => {
  fc.assert(
    fc.property(fc.array(fc.array(transfer, { maxLength: 4 }), { maxLength: 5 }), (blocks) => {
      const chain = createTestApp(people.slice(0, 2));
      const total = holdings(chain);
      let stamp = chain.nowNs + 300n * second;
      for (const transfers of blocks) {
        const txs = transfers.map(({ from, to, amount, denom, fee, gas }) => {
          const [sender, receiver] = [people[from]!, people[to]!];
          const messages = [1n, amount].map((each) => sendMessage(sender.address, receiver.address, each, denom));
          stamp += 1n;
          return chain.sign(sender, messages, {
            fee: fee ? [{ denom: "uakt", amount: `${fee}` }] : [],
            gas,
            unorderedNs: stamp,
          });
        });
        chain.block(txs);
        assert.deepEqual(holdings(chain), total);
      }
    }),
    { numRuns: runs(25, 1_000) },
  );
});

function holdings(chain: TestApp): bigint[] {
  const holders = [...people.map(({ address }) => address), moduleAddress("fee_collector")];
  return ["uakt", "uact"].map((denom) => holders.reduce((sum, holder) => sum + chain.balance(holder, denom), 0n));
}
