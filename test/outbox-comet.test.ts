/** The outbox's view of the chain over the real wire, from an embedded node's RPC. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createPool } from "../src/chain/comet/pool.ts";
import { createApp } from "../src/chain/embedded/app.ts";
import { createNode } from "../src/chain/embedded/node/node.ts";
import { createCometBroadcaster } from "../src/chain/outbox/comet-broadcaster.ts";
import { transactionHash, unsignedTransaction } from "../src/chain/tx/transaction.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { signTransaction, testKey, type Unsigned } from "./chain-signing.ts";
import { sendMessage } from "./embedded-app.ts";
import { chainId, providerKey, providerSigner, tenantKey } from "./outbox-stage.ts";

async function start(t: TestContext) {
  const accounts = [{ address: providerKey.address, coins: [{ denom: "uakt", amount: 1_000_000n }] }];
  const timeNs = BigInt(Date.now() - 60_000) * 1_000_000n;
  const deps = { clock: realClock, log: silentLog };
  const node = createNode({ app: createApp({ chainId, timeNs, accounts }), ...deps });
  t.after(() => node.stop());
  await node.start();
  node.step();
  const pool = createPool({ endpoints: [{ url: node.rpcUrl }], random: realRandom, ...deps });
  t.after(() => pool.close());
  await pool.open();
  return { node, chain: createCometBroadcaster(pool) };
}

const send = (amount: bigint) => sendMessage(providerKey.address, tenantKey.address, amount);
let ties = 0n;

function sign(stampNs: bigint, amount: bigint, more: Partial<Unsigned> = {}): Uint8Array {
  const signers = [{ key: providerKey, accountNumber: 0n }];
  return signTransaction({ messages: [send(amount)], signers, chainId, unorderedNs: stampNs + ties++, ...more });
}

test("head and accounts are as the node tells them, and an account without money does not exist", async (t) => {
  const { node, chain } = await start(t);
  const head = await chain.head();
  assert.equal(head.height, node.height);
  assert.deepEqual(await chain.account(providerKey.address, head.height), { number: 0n, sequence: 0n });
  assert.equal(await chain.account(testKey("nobody").address, head.height), undefined);
  await assert.rejects(chain.account(providerKey.address, head.height + 1n), "no node has got that far");
});

test("a simulation tells the gas, or what is wrong with the transaction", async (t) => {
  const { chain } = await start(t);
  const { height, timeNs } = await chain.head();
  const validity = { kind: "unordered", stampNs: timeNs + 60_000_000_000n } as const;
  const draft = (amount: bigint) => ({ messages: [send(amount)], validity, gas: 0n, fee: [] });
  const fine = await chain.simulate(unsignedTransaction(draft(1n), providerSigner.publicKey), height);
  assert.ok(fine.kind === "ran" && fine.gasUsed > 10_000n);
  const tooMuch = await chain.simulate(unsignedTransaction(draft(10n ** 12n), providerSigner.publicKey), height);
  assert.ok(tooMuch.kind === "refused");
  assert.match(tooMuch.log, /message index: 0.*insufficient funds/);
});

test("a transaction is taken once and again, found once it is in a block, and says how it ended", async (t) => {
  const { node, chain } = await start(t);
  const { height, timeNs } = await chain.head();
  const stampNs = timeNs + 120_000_000_000n;
  const fine = sign(stampNs, 1n);
  const fails = sign(stampNs, 10n ** 12n);
  for (const tx of [fine, fine, fails]) assert.deepEqual(await chain.broadcast(tx), { kind: "taken" });
  assert.equal(await chain.findTx(transactionHash(fine), height), undefined);
  node.step();
  const found = await chain.findTx(transactionHash(fine), height + 1n);
  assert.equal(found?.code, 0);
  assert.equal(found?.height, height + 1n);
  const failed = await chain.findTx(transactionHash(fails), height + 1n);
  assert.deepEqual([failed?.codespace, failed?.code, failed?.admitted], ["sdk", 5, true]);
  assert.match(failed?.log ?? "", /message index: 0/);
  const poor = await chain.broadcast(sign(stampNs, 1n, { fee: [{ denom: "uakt", amount: "1" }] }));
  assert.ok(poor.kind === "refused");
  assert.deepEqual([poor.codespace, poor.code], ["sdk", 13]);
});

test("a node that is gone answers nothing, and says so by rejecting", async (t) => {
  const { node, chain } = await start(t);
  const { height } = await chain.head();
  await node.stop();
  await assert.rejects(chain.findTx("AA".repeat(32), height));
  await assert.rejects(chain.head());
});
