import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AuthInfo,
  BasicAllowance,
  MsgGrantAllowance,
  SignMode,
  TxRaw,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { signTransaction } from "../../../test/support/chain-signing.ts";
import { alice, bob, carol, chainId, createTestApp, second, sendMessage } from "../../../test/support/embedded-app.ts";
import type { TxResult } from "./abci.ts";
import { moduleAddress } from "./modules/auth/accounts.ts";

const keys = [alice, bob];
const gift = () => [sendMessage(alice.address, bob.address, 1)];
const collector = moduleAddress("fee_collector");

function assertRejected(result: TxResult, code: number, log: RegExp, codespace = "sdk"): void {
  assert.deepEqual([result.code, result.codespace], [code, codespace], result.log);
  assert.match(result.log, log);
}

test("several transactions of one account fit into one block, with the sequences that the pool has counted on", () => {
  const chain = createTestApp(keys);
  const txs = [0n, 1n, 2n].map((sequence) =>
    signTransaction({ messages: gift(), signers: [{ key: alice, accountNumber: 0n, sequence }], chainId }),
  );
  for (const tx of txs) assert.equal(chain.app.checkTx(tx).code, 0);
  assertRejected(chain.app.checkTx(txs[1]!), 32, /expected 3, got 1/);
  assert.ok(chain.block(txs).txResults.every(({ code }) => code === 0));
  assert.equal(chain.account(alice.address).sequence, 3n);
});

test("the pool's counting starts anew from each block", () => {
  const chain = createTestApp(keys);
  const tx = chain.sign(alice, gift());
  assert.equal(chain.app.checkTx(tx).code, 0);
  assertRejected(chain.app.checkTx(tx), 32, /expected 1, got 0/);
  chain.block();
  assert.equal(chain.app.checkTx(tx).code, 0, "it never got into a block, so the state is as it was");
});

test("what the pool has seen does not count in a block", () => {
  const chain = createTestApp(keys);
  chain.app.checkTx(chain.sign(alice, gift()));
  assert.equal(chain.deliver(chain.sign(alice, gift())).code, 0);
});

test("a replayed transaction is rejected in a later block", () => {
  const chain = createTestApp(keys);
  const tx = chain.sign(alice, gift());
  assert.equal(chain.deliver(tx).code, 0);
  assertRejected(chain.deliver(tx), 32, /^account sequence mismatch, expected 1, got 0: incorrect account sequence$/);
});

test("a stamp is taken once per sender, whatever the transaction says", () => {
  const chain = createTestApp(keys);
  const unorderedNs = chain.nowNs + 60n * second + 7n;
  const first = chain.sign(alice, gift(), { unorderedNs });
  const again = chain.sign(alice, gift(), { unorderedNs, memo: "the same stamp, other bytes" });
  assert.equal(chain.app.checkTx(first).code, 0);
  const used = new RegExp(
    `^failed to add unordered nonce: sender ${alice.address} has already used timeout ${unorderedNs}`,
  );
  assertRejected(chain.app.checkTx(again), 18, used);
  assert.deepEqual(
    chain.block([first, again]).txResults.map(({ code }) => code),
    [0, 18],
  );
  assertRejected(chain.deliver(first), 18, used);
  assert.equal(chain.deliver(chain.sign(bob, [sendMessage(bob.address, alice.address, 1)], { unorderedNs })).code, 0);
  assert.equal(chain.deliver(chain.sign(alice, gift(), { unorderedNs: unorderedNs + 1n })).code, 0);
});

test("a stamp commits at most once even in the block whose time it equals, and is too late after that", () => {
  const chain = createTestApp(keys);
  const unorderedNs = chain.nowNs + 2n * second;
  const tx = chain.sign(alice, gift(), { unorderedNs });
  assert.equal(chain.deliver(tx).code, 0);
  assertRejected(chain.deliver(tx), 18, /has already used timeout/);
  assertRejected(chain.deliver(tx), 42, /tx timeout$/);
});

test("an unordered transaction leaves the sequence alone", () => {
  const chain = createTestApp(keys);
  chain.deliver(chain.sign(alice, gift()));
  const unordered = chain.deliver(chain.sign(alice, gift(), { unorderedNs: chain.nowNs + 60n * second }));
  assert.equal(unordered.code, 0);
  assert.equal(chain.account(alice.address).sequence, 1n);
  assert.ok(!JSON.stringify(unordered.events).includes("acc_seq"));
});

test("an unordered transaction without a stamp is rejected", () => {
  const chain = createTestApp(keys);
  assertRejected(
    chain.app.checkTx(chain.sign(alice, gift(), { unorderedNs: 0n })),
    18,
    /must have timeout_timestamp set/,
  );
});

test("a chain can have unordered transactions switched off", () => {
  const chain = createTestApp(keys, { unordered: false });
  const tx = chain.sign(alice, gift(), { unorderedNs: chain.nowNs + second });
  assertRejected(chain.app.checkTx(tx), 37, /^unordered transactions are not enabled: feature not supported$/);
});

test("what was paid and remembered before the messages stays when a message fails", () => {
  const chain = createTestApp(keys);
  const before = chain.balance(alice.address);
  const unorderedNs = chain.nowNs + 60n * second;
  const tx = chain.sign(alice, [sendMessage(alice.address, bob.address, before)], { unorderedNs });
  assertRejected(chain.deliver(tx), 5, /^failed to execute message; message index: 0: spendable balance/);
  assert.equal(chain.balance(alice.address), before - 20_000n);
  assert.equal(chain.balance(collector), 20_000n);
  assertRejected(chain.deliver(tx), 18, /has already used timeout/);
});

test("a transaction that fails before its messages costs nothing", () => {
  const chain = createTestApp(keys);
  const before = chain.balance(alice.address);
  const result = chain.deliver(
    chain.sign(alice, gift(), { signers: [{ key: alice, accountNumber: 0n, sequence: 9n }] }),
  );
  assertRejected(result, 32, /expected 0, got 9/);
  assert.deepEqual(result.events, []);
  assert.equal(chain.balance(alice.address), before);
});

test("a signature by another key, another account number or altered bytes is rejected", () => {
  const chain = createTestApp(keys);
  const foreignKey = { ...bob, address: alice.address };
  const wrongKey = chain.sign(alice, gift(), { signers: [{ key: foreignKey, accountNumber: 0n }] });
  assertRejected(chain.app.checkTx(wrongKey), 8, /^pubKey does not match signer address .* with signer index: 0/);
  const wrongNumber = chain.sign(alice, gift(), { signers: [{ key: alice, accountNumber: 1n }] });
  assertRejected(chain.app.checkTx(wrongNumber), 4, /please verify account number \(0\) and chain-id \(lab-1\)/);
  const raw = TxRaw.decode(chain.sign(alice, gift()));
  const [signature] = raw.signatures;
  signature![10]! ^= 1;
  assertRejected(chain.app.checkTx(TxRaw.encode(raw).finish()), 4, /unable to verify single signer signature/);
});

test("the twin of a signature, which would hold too, is rejected", () => {
  const chain = createTestApp(keys);
  const raw = TxRaw.decode(chain.sign(alice, gift()));
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const signature = Buffer.from(raw.signatures[0]!);
  const twin = order - BigInt(`0x${signature.subarray(32).toString("hex")}`);
  raw.signatures = [
    Buffer.concat([signature.subarray(0, 32), Buffer.from(twin.toString(16).padStart(64, "0"), "hex")]),
  ];
  assertRejected(chain.app.checkTx(TxRaw.encode(raw).finish()), 4, /unable to verify single signer signature/);
});

test("the public key may be left out once the account has shown it", () => {
  const chain = createTestApp(keys);
  const without = (sequence: bigint) =>
    chain.sign(alice, gift(), { signers: [{ key: alice, accountNumber: 0n, sequence, anonymous: true }] });
  assertRejected(chain.app.checkTx(without(0n)), 8, /^pubkey on account is not set/);
  chain.deliver(chain.sign(alice, gift()));
  assert.equal(chain.deliver(without(1n)).code, 0);
});

test("everyone whose money a transaction moves must have signed it", () => {
  const chain = createTestApp(keys);
  const messages = [sendMessage(alice.address, carol.address, 1), sendMessage(bob.address, carol.address, 2)];
  assertRejected(chain.app.checkTx(chain.sign(alice, messages)), 4, /^wrong number of signers; expected 2, got 1/);
  const signers = [alice, bob].map((key, index) => ({ key, accountNumber: index, sequence: 0 }));
  assert.equal(chain.deliver(chain.sign(alice, messages, { signers })).code, 0);
  assert.equal(chain.balance(carol.address), 3n);
  assert.deepEqual(
    [alice, bob].map(({ address }) => chain.account(address).sequence),
    [1n, 1n],
  );
});

test("an account that does not exist cannot sign", () => {
  const chain = createTestApp(keys);
  const messages = [sendMessage(carol.address, bob.address, 1)];
  const tx = signTransaction({ messages, signers: [{ key: carol, accountNumber: 99 }], chainId });
  assertRejected(chain.app.checkTx(tx), 9, /^fee payer address: akash1\w+ does not exist: unknown address$/);
});

test("only the direct sign mode is understood", () => {
  const chain = createTestApp(keys);
  const tx = chain.sign(alice, gift(), { signMode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON });
  assertRejected(chain.app.checkTx(tx), 4, /signature verification failed/);
});

test("a transaction past its height or its time is rejected", () => {
  const chain = createTestApp(keys);
  chain.block();
  chain.block();
  assert.equal(chain.app.checkTx(chain.sign(alice, gift(), { timeoutHeight: 2n })).code, 0);
  assertRejected(
    chain.deliver(chain.sign(alice, gift(), { timeoutHeight: 2n })),
    30,
    /^block height: 3, timeout height: 2: tx timeout height$/,
  );
  assertRejected(chain.app.checkTx(chain.sign(alice, gift(), { timeoutNs: chain.nowNs - 1n })), 42, /tx timeout$/);
});

test("a memo may have 256 bytes", () => {
  const chain = createTestApp(keys);
  assert.equal(chain.app.checkTx(chain.sign(alice, gift(), { memo: "m".repeat(256) })).code, 0);
  chain.block();
  assertRejected(
    chain.app.checkTx(chain.sign(alice, gift(), { memo: `${"m".repeat(255)}é` })),
    12,
    /^maximum number of characters is 256 but received 257 characters: memo too large$/,
  );
});

test("a transaction with a gas limit of zero is rejected", () => {
  const chain = createTestApp(keys);
  assertRejected(chain.app.checkTx(chain.sign(alice, gift(), { gas: 0 })), 11, /^out of gas in location/);
});

test("the minimum fee is the pool's affair: a block takes less", () => {
  const chain = createTestApp(keys);
  const fee = [{ denom: "uakt", amount: "499" }];
  assertRejected(
    chain.app.checkTx(chain.sign(alice, gift(), { fee })),
    13,
    /^insufficient fees; got: 499uakt required: 500uakt: insufficient fee$/,
  );
  assertRejected(chain.app.checkTx(chain.sign(alice, gift(), { fee: [] })), 13, /got: {2}required: 500uakt/);
  const wrongToken = [{ denom: "uact", amount: "20000" }];
  assertRejected(chain.app.checkTx(chain.sign(alice, gift(), { fee: wrongToken })), 13, /got: 20000uact/);
  assert.equal(chain.deliver(chain.sign(alice, gift(), { fee })).code, 0);
});

test("a fee that the payer cannot afford is rejected", () => {
  const chain = createTestApp(keys);
  const fee = [{ denom: "uakt", amount: "10000000000001" }];
  assertRejected(
    chain.deliver(chain.sign(alice, gift(), { fee })),
    5,
    /^spendable balance 10000000000000uakt is smaller than 10000000000001uakt: insufficient funds: insufficient funds$/,
  );
});

test("a fee whose coins are out of order is rejected", () => {
  const chain = createTestApp(keys);
  const fee = ["uakt", "uact"].map((denom) => ({ denom, amount: "20000" }));
  assertRejected(chain.app.checkTx(chain.sign(alice, gift(), { fee })), 13, /^invalid fee amount: 20000uakt,20000uact/);
});

test("another signer can be named to pay the fee", () => {
  const chain = createTestApp(keys);
  const signers = [alice, bob].map((key, index) => ({ key, accountNumber: index, sequence: 0 }));
  const before = chain.balance(bob.address);
  assert.equal(chain.deliver(chain.sign(alice, gift(), { payer: bob.address, signers })).code, 0);
  assert.equal(chain.balance(bob.address), before - 20_000n + 1n);
  const unsigned = chain.sign(alice, gift(), { payer: bob.address });
  assertRejected(chain.app.checkTx(unsigned), 4, /^wrong number of signers; expected 2, got 1/);
});

function grant(spendLimit: readonly { denom: string; amount: string }[], expiration?: Date) {
  const basic = BasicAllowance.fromPartial({ spendLimit: [...spendLimit], ...(expiration && { expiration }) });
  const allowance = {
    typeUrl: "/cosmos.feegrant.v1beta1.BasicAllowance",
    value: BasicAllowance.encode(basic).finish(),
  };
  const message = { granter: bob.address, grantee: alice.address, allowance };
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgGrantAllowance", value: MsgGrantAllowance.encode(message).finish() };
}

test("a fee granter pays while the allowance lasts", () => {
  const chain = createTestApp(keys);
  const granted = () => chain.sign(alice, gift(), { granter: bob.address });
  assertRejected(
    chain.app.checkTx(granted()),
    38,
    /does not allow to pay fees for .*: fee-grant not found: not found$/,
  );
  assert.equal(chain.deliver(chain.sign(bob, [grant([{ denom: "uakt", amount: "50000" }])])).code, 0);
  const [mine, theirs] = [chain.balance(alice.address), chain.balance(bob.address)];
  const paid = chain.deliver(granted());
  assert.equal(paid.code, 0);
  assert.ok(paid.events.some(({ type }) => type === "use_feegrant"));
  assert.deepEqual([chain.balance(alice.address), chain.balance(bob.address)], [mine - 1n, theirs - 20_000n + 1n]);
  assert.equal(chain.deliver(granted()).code, 0);
  assertRejected(chain.deliver(granted()), 2, /fee limit exceeded$/, "feegrant");
  const rest = chain.sign(alice, gift(), { granter: bob.address, fee: [{ denom: "uakt", amount: "10000" }] });
  assert.ok(chain.deliver(rest).events.some(({ type }) => type === "revoke_feegrant"));
  assertRejected(chain.deliver(granted()), 38, /fee-grant not found/);
});

test("an allowance that has expired pays no more", () => {
  const chain = createTestApp(keys);
  const expiration = new Date(Number(chain.nowNs / 1_000_000n) + 1_500);
  assert.equal(chain.deliver(chain.sign(bob, [grant([], expiration)])).code, 0);
  const tx = chain.sign(alice, gift(), { granter: bob.address });
  assertRejected(chain.deliver(tx), 3, /basic allowance: fee allowance expired$/, "feegrant");
  chain.block();
  assertRejected(chain.app.checkTx(tx), 38, /fee-grant not found/);
});

test("a signer is looked for under every signature", () => {
  const chain = createTestApp(keys);
  const raw = TxRaw.decode(chain.sign(alice, gift()));
  const info = AuthInfo.decode(raw.authInfoBytes);
  raw.authInfoBytes = AuthInfo.encode({ ...info, signerInfos: [] }).finish();
  assertRejected(chain.app.checkTx(TxRaw.encode(raw).finish()), 4, /^invalid number of signer; {2}expected: 1, got 0/);
  assertRejected(chain.app.checkTx(TxRaw.encode({ ...raw, signatures: [] }).finish()), 15, /^no signatures supplied$/);
});
