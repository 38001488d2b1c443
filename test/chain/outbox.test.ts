/** The outbox against the embedded chain: what was filed happens once, or not at all with a reason. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SendRequest } from "../../src/chain/chain.ts";
import { outboxTxBytes } from "../../src/chain/outbox/preparation.ts";
import { outboxAtOnce } from "../../src/chain/tx/broadcaster.ts";
import { parseAddress } from "../../src/market/address.ts";
import type { OrderId } from "../../src/market/ids.ts";
import { sendMessage } from "../support/embedded-app.ts";
import { temporaryFolder } from "../support/folder.ts";
import { closeBid, closeDeployment } from "../support/market-messages.ts";
import {
  all,
  fileBids,
  runOutbox,
  sendSettings,
  stampOf,
  startOutbox,
  statesOf,
  unreachable,
} from "../support/outbox-run.ts";
import {
  allowFees,
  bidIdOn,
  bidOn,
  chainId,
  malformedBidOn,
  providerKey,
  stageFee,
  tenantKey,
} from "../support/stages/outbox-stage.ts";

function gift(amount: bigint, denom?: string): SendRequest {
  const message = sendMessage(providerKey.address, tenantKey.address, amount, denom);
  return { subject: `gift ${amount}`, why: "test", message, priority: "account" };
}

const dseqsOf = (orders: readonly OrderId[]) => orders.map(({ dseq }) => dseq);

test("bids filed together travel in one transaction and are settled by its hash", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(20);
  const ids = await fileBids(run, orders);
  const { header } = await run.block();
  await run.block();
  assert.deepEqual(run.stage.bids(), dseqsOf(orders));
  assert.deepEqual(statesOf(run, ids), all(20, "done"));
  const { transactions, done, inFlight, owed } = run.outbox.counts;
  assert.deepEqual({ transactions, done, inFlight, owed }, { transactions: 1, done: 20, inFlight: 0, owed: 0 });
  assert.equal((await run.outbox.wait(ids[0] as number)).result.height, `${header.height}`);
});

test("more than fifty messages travel in several transactions of the same block", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(120);
  const ids = await fileBids(run, orders);
  const { txs } = await run.block();
  assert.equal(txs.length, 3);
  assert.deepEqual(statesOf(run, ids), all(120, "done"));
});

test("a message that cannot be done is found by simulation, settled as failed, and costs nothing", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(5);
  const [closed] = orders as [OrderId];
  run.stage.submit(tenantKey, [closeDeployment(closed)]);
  await run.block();
  const ids = await fileBids(run, orders);
  const settled = run.outbox.wait(ids[0] as number);
  await run.block();
  await run.block();
  assert.deepEqual(statesOf(run, ids), ["failed", ...all(4, "done")]);
  assert.match((await settled).result.log ?? "", /order.*not open|not open|closed/);
  assert.equal(run.outbox.counts.transactions, 1);
});

test("a node that does not know the newest order yet costs a bid a block, not its life", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(5);
  let rejections = 1;
  run.faults.simulationError = () =>
    rejections-- > 0 ? "failed to execute message; message index: 2: order not found with gas used: '1'" : undefined;
  const ids = await fileBids(run, orders);
  await run.settle();
  assert.deepEqual(statesOf(run, ids), ["sent", "sent", "filed", "sent", "sent"]);
  run.outbox.wake();
  await run.settle();
  assert.equal(run.outbox.counts.simulations, 2, "it is not simulated again before the next block");
  await run.block();
  await run.block();
  assert.deepEqual(statesOf(run, ids), all(5, "done"));
});

test("what is about the same subject waits behind one that was set aside", async (t) => {
  const run = await startOutbox(t);
  const [order] = (await run.stage.orders(1)) as [OrderId];
  let rejections = 1;
  run.faults.simulationError = () =>
    rejections-- > 0 ? "message index: 0: order not found with gas used: '1'" : undefined;
  const close: SendRequest = { ...bidOn(order), message: closeBid(bidIdOn(order)), priority: "close" };
  const ids = await Promise.all([run.outbox.file(bidOn(order)), run.outbox.file(close)]);
  await run.settle();
  run.outbox.wake();
  await run.settle();
  assert.deepEqual(statesOf(run, ids), ["filed", "filed"]);
  await run.blocks(3);
  assert.deepEqual(statesOf(run, ids), ["done", "done"]);
});

test("an order closed between simulation and block fails alone; the others land a block later", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(20);
  const spoiled = orders[7] as OrderId;
  run.stage.submit(tenantKey, [closeDeployment(spoiled)]);
  const ids = await fileBids(run, orders);
  await run.settle();
  await run.block();
  await run.block();
  const wanted = all(20, "done");
  wanted[7] = "failed";
  assert.deepEqual(statesOf(run, ids), wanted);
  const { result } = await run.outbox.wait(ids[7] as number);
  assert.equal(result.codespace, "market");
  assert.notEqual(result.code, 0);
  assert.deepEqual(run.stage.bids(), dseqsOf(orders.filter((order) => order !== spoiled)));
  assert.equal(run.outbox.counts.splits, 1);
});

test("a transaction that is never included is dead after its timeout timestamp, and its intents are sent again", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(3);
  run.faults.mishap = () => "taken, but forgotten";
  const ids = await fileBids(run, orders);
  await run.settle();
  const first = run.journal.read.intents.get(ids[0] as number);
  const firstStampNs = stampOf(run, ids[0] as number);
  await run.blocks(9);
  assert.deepEqual(statesOf(run, ids), all(3, "sent"), "before its stamp has passed nothing is certain");
  assert.equal(run.outbox.counts.transactions, 1);
  run.faults.mishap = () => undefined;
  await run.block(60_000);
  await run.blocks(6);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  const second = run.journal.read.intents.get(ids[0] as number);
  assert.notEqual(second?.txHash, first?.txHash);
  const lastTimeoutNs = run.journal.read.transactions.lastTimeoutNs(chainId, providerKey.address) ?? 0n;
  assert.ok(lastTimeoutNs > (firstStampNs ?? 0n));
  assert.equal(run.outbox.counts.refiled, 3);
});

test("without proof that no block holds a transaction its intents wait, with a clear condition", async (t) => {
  const run = await startOutbox(t);
  const ids = await fileBids(run, await run.stage.orders(3));
  await run.settle();
  const first = run.journal.read.intents.get(ids[0] as number);
  // It is in the next block, but we do not see that one, and every node that answers has begun after that.
  run.faults.shortHistory = true;
  run.faults.blocks = "lost";
  await run.block();
  const unproven = () => run.outbox.state.unproven;
  assert.equal(unproven(), undefined, "its time has not passed");
  await run.block(120_000);
  await run.blocks(8);
  assert.deepEqual(statesOf(run, ids), all(3, "sent"));
  assert.equal(unproven()?.code, "AKP_TX_UNPROVEN");
  assert.equal(unproven()?.details["hash"], first?.txHash);
  const next = await run.restart();
  await next.blocks(8);
  assert.deepEqual(statesOf(next, ids), all(3, "sent"), "also after a restart");
  const others = await fileBids(next, await next.stage.orders(2));
  await next.block();
  next.faults.shortHistory = false;
  await next.block();
  assert.deepEqual(statesOf(next, [...ids, ...others]), all(5, "done"));
  assert.equal(next.outbox.state.unproven, undefined);
  assert.equal(next.outbox.counts.refiled, 0);
});

test("a transaction that got lost on the way is handed over again, byte for byte", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(3);
  let losses = 2;
  run.faults.mishap = () => (losses-- > 0 ? "lost on the way" : undefined);
  const ids = await fileBids(run, orders);
  await run.blocks(4);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.equal(run.outbox.counts.transactions, 1);
});

test("an answer that got lost is not needed: the transaction is found by its hash", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(3);
  run.faults.mishap = () => "taken, but the answer is lost";
  const ids = await fileBids(run, orders);
  await run.blocks(3);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.deepEqual(run.stage.bids(), dseqsOf(orders));
});

test("a transaction that runs out of gas is sent again with more, until it is enough", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(3);
  run.faults.gasFactor = 0.4;
  const ids = await fileBids(run, orders);
  await run.blocks(6);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.ok(run.outbox.counts.transactions > 1);
  assert.ok((run.journal.read.intents.get(ids[0] as number)?.failures ?? 0) > 0);
});

test("a message that the chain finds malformed is found by halving, and only after a second look", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(6);
  const ids = await Promise.all(
    orders.map((order, index) => run.outbox.file(index === 2 ? malformedBidOn(order) : bidOn(order))),
  );
  await run.settle();
  assert.deepEqual(statesOf(run, ids), ["sent", "sent", "filed", "sent", "sent", "sent"], "one look is not enough");
  await run.block();
  await run.block();
  assert.deepEqual(statesOf(run, ids), ["done", "done", "failed", "done", "done", "done"]);
});

test("a transaction that no node takes delays no other, and its messages are sent apart", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(6);
  const poison = "123457";
  run.faults.rpcError = (tx) => (Buffer.from(tx).includes(poison) ? "tx pre check: tx size is too big" : undefined);
  const ids = await Promise.all(
    orders.slice(0, 4).map((order, index) => run.outbox.file(index === 1 ? gift(BigInt(poison)) : bidOn(order))),
  );
  await run.settle();
  assert.deepEqual(statesOf(run, ids), all(4, "sent"));
  const others = await fileBids(run, orders.slice(4));
  await run.block();
  assert.deepEqual(statesOf(run, others), all(2, "done"));
  assert.equal(run.outbox.state.stalled, undefined);
  for (let blocks = 0; run.outbox.counts.owed > 0 && blocks < 200; blocks++) await run.block(30_000);
  assert.deepEqual(statesOf(run, ids), ["done", "failed", "done", "done"]);
  assert.match((await run.outbox.wait(ids[1] as number)).result.log ?? "", /pre check/);
});

test("a transaction without an answer of any node does not delay the others", async (t) => {
  const run = await startOutbox(t);
  const [first, ...others] = (await run.stage.orders(4)) as [OrderId, ...OrderId[]];
  let lost: number | undefined;
  run.faults.rpcError = (tx) => {
    lost ??= tx.length;
    if (tx.length === lost) throw unreachable("the connection breaks off");
    return undefined;
  };
  const ids = await fileBids(run, [first]);
  await run.settle();
  const more = await fileBids(run, others);
  await run.settle();
  await run.block();
  assert.deepEqual(statesOf(run, [...ids, ...more]), ["sent", ...all(3, "done")]);
  assert.match(run.outbox.state.silent ?? "", /the connection breaks off/);
});

test("transactions that cannot be simulated do not keep the others from being sent", async (t) => {
  const run = await startOutbox(t, { outbox: { settings: { ...sendSettings, mostGas: 1n } } });
  const broken = outboxAtOnce;
  const [first, ...orders] = (await run.stage.orders(broken + 2)) as [OrderId, ...OrderId[]];
  // Once it is known what gas one needs, they travel one by one.
  await fileBids(run, [first]);
  await run.block();
  let simulations = 0;
  run.faults.simulationError = () => {
    simulations += 1;
    if (simulations <= broken) throw unreachable("the node falls over");
    return undefined;
  };
  const ids = await fileBids(run, orders);
  await run.settle();
  assert.deepEqual(statesOf(run, ids), [...all(broken, "filed"), "sent"]);
  assert.match(run.outbox.state.silent ?? "", /the node falls over/);
});

test("what is larger than a node takes is cut, and a message that is too large by itself fails at once", async (t) => {
  const run = await startOutbox(t);
  const sizes = [outboxTxBytes / 2, outboxTxBytes / 2, outboxTxBytes];
  const ids = await Promise.all(sizes.map((chars, index) => run.outbox.file(gift(BigInt(index), "a".repeat(chars)))));
  await run.settle();
  assert.equal(statesOf(run, ids)[2], "failed");
  assert.match((await run.outbox.wait(ids[2] as number)).result.log ?? "", /bytes are more than a node takes/);
  assert.deepEqual([run.outbox.counts.halved, run.outbox.counts.simulations], [2, 2]);
});

test("a chain without unordered transactions is served with sequences, one transaction after the other", async (t) => {
  const run = await startOutbox(t, { stage: { genesis: { unordered: false } } });
  const orders = await run.stage.orders(120);
  const ids = await fileBids(run, orders);
  await run.blocks(4);
  assert.deepEqual(statesOf(run, ids), all(120, "done"));
  assert.equal(run.outbox.state.ordering, "ordered");
  assert.equal(run.outbox.counts.transactions, 3);
});

test("a block between the queries of head and account causes no second send", async (t) => {
  const run = await startOutbox(t, { stage: { genesis: { unordered: false } } });
  const message = sendMessage(providerKey.address, tenantKey.address, 777);
  const id = await run.outbox.file({ subject: "wallet", why: "test", message, priority: "account" });
  await run.settle();
  run.faults.beforeAccount = () => {
    run.faults.beforeAccount = () => undefined;
    run.stage.chain.step();
  };
  run.outbox.wake();
  await run.clock.advance(100);
  await run.blocks(3);
  assert.deepEqual(statesOf(run, [id]), ["done"]);
  assert.equal(run.stage.times(message), 1);
});

test("another user of the same key costs a sequence, not an intent", async (t) => {
  const run = await startOutbox(t, { stage: { genesis: { unordered: false } } });
  const orders = await run.stage.orders(3);
  let others = 1;
  run.faults.mishap = () => {
    if (others-- > 0) run.stage.submit(providerKey, [sendMessage(providerKey.address, tenantKey.address, 1)]);
    return undefined;
  };
  const ids = await fileBids(run, orders);
  await run.blocks(8);
  assert.deepEqual(statesOf(run, ids), all(3, "done"));
  assert.deepEqual(run.stage.bids(), dseqsOf(orders));
  const { rejected, refiled, transactions } = run.outbox.counts;
  assert.ok(rejected > 0, "another user took the sequence");
  assert.deepEqual({ refiled, transactions }, { refiled: 3, transactions: 2 });
});

test("a wallet that cannot pay the fee stalls the outbox with what is missing, and goes on once it is filled", async (t) => {
  const run = await startOutbox(t, { stage: { providerCoins: [{ denom: "uakt", amount: 1_300_100n }] } });
  const message = sendMessage(providerKey.address, tenantKey.address, 1);
  const ids = [await run.outbox.file({ subject: "wallet", why: "test", message, priority: "account" })];
  await run.block();
  const { stalled } = run.outbox.state;
  assert.equal(stalled?.code, "AKP_WALLET_SHORT");
  assert.match(stalled?.message ?? "", /spendable balance|smaller than/);
  assert.deepEqual(statesOf(run, ids), ["sent"]);
  run.stage.submit(tenantKey, [sendMessage(tenantKey.address, providerKey.address, 10_000_000)]);
  await run.blocks(5);
  assert.deepEqual(statesOf(run, ids), ["done"]);
  assert.equal(run.outbox.state.stalled, undefined);
});

test("a transaction that failed in its block before its messages is not replaced while it could still succeed", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(2);
  // It is in the pool first, so it takes the money that the bids would have paid their fee with.
  const spent = run.stage.balance(providerKey.address) - stageFee - 100n;
  run.stage.submit(providerKey, [sendMessage(providerKey.address, tenantKey.address, spent)]);
  const ids = await fileBids(run, orders);
  await run.settle();
  const hash = run.journal.read.intents.get(ids[0] as number)?.txHash;
  const block = await run.block();
  assert.deepEqual(
    block.output.txResults.map(({ code }) => code),
    [0, 5],
  );
  assert.deepEqual(statesOf(run, ids), ["sent", "sent"]);
  run.stage.submit(tenantKey, [sendMessage(tenantKey.address, providerKey.address, 100_000_000)]);
  await run.blocks(4);
  assert.deepEqual(statesOf(run, ids), ["done", "done"]);
  assert.equal(run.journal.read.intents.get(ids[0] as number)?.txHash, hash);
});

test("a fee granter pays, and one that does not allow it is a clear condition", async (t) => {
  const settings = { ...sendSettings, feeGranter: tenantKey.address };
  const run = await startOutbox(t, { outbox: { settings } });
  const [order] = (await run.stage.orders(1)) as [OrderId];
  const ids = await fileBids(run, [order]);
  await run.settle();
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_SHORT");
  run.stage.submit(tenantKey, [allowFees(tenantKey.address, providerKey.address)]);
  await run.block();
  const before = run.stage.balance(providerKey.address);
  await run.blocks(6);
  assert.deepEqual(statesOf(run, ids), ["done"]);
  assert.equal(run.stage.balance(providerKey.address), before - 500_000n, "only the deposit was ours to pay");
});

test("no transaction exceeds the gas limit, and the gas of a message is the estimate for the next", async (t) => {
  const run = await startOutbox(t, { outbox: { settings: { ...sendSettings, mostGas: 2_000_000n } } });
  const first = await fileBids(run, await run.stage.orders(20));
  const { txs } = await run.block();
  assert.ok(txs.length > 1);
  const { halved } = run.outbox.counts;
  assert.ok(halved > 0);
  const second = await fileBids(run, await run.stage.orders(20));
  await run.block();
  assert.deepEqual(statesOf(run, [...first, ...second]), all(40, "done"));
  assert.equal(run.outbox.counts.halved, halved, "the second time it was known how many fit");
});

test("with a fixed gas limit, as many messages travel together as it is enough for", async (t) => {
  const run = await startOutbox(t, { outbox: { settings: { ...sendSettings, gas: 2_000_000n } } });
  const ids = await fileBids(run, await run.stage.orders(1));
  await run.block();
  const more = await fileBids(run, await run.stage.orders(10));
  const { txs, output } = await run.block();
  assert.deepEqual(statesOf(run, [...ids, ...more]), all(11, "done"));
  assert.ok(txs.length < 5);
  for (const { gasWanted } of output.txResults) assert.equal(gasWanted, 2_000_000n);
});

test("while no node answers nothing is lost, and the reason can be read", async (t) => {
  const run = await startOutbox(t);
  const orders = await run.stage.orders(2);
  run.faults.silent = true;
  const ids = await fileBids(run, orders);
  await run.block();
  assert.match(run.outbox.state.silent ?? "", /no route to host/);
  assert.deepEqual(statesOf(run, ids), all(2, "filed"));
  run.faults.silent = false;
  await run.blocks(3);
  assert.equal(run.outbox.state.silent, undefined);
  assert.deepEqual(statesOf(run, ids), all(2, "done"));
});

test("an intent that a service files in a unit of its own is sent like any other", async (t) => {
  const run = await startOutbox(t);
  const [order] = (await run.stage.orders(1)) as [OrderId];
  const id = await run.journal.durable("decide", ({ intents }) => intents.file(run.outbox.intentOf(bidOn(order))));
  run.outbox.wake();
  await run.block();
  assert.deepEqual(statesOf(run, [id]), ["done"]);
});

test("an intent that is settled while its transaction is prepared does not delay the others", async (t) => {
  const run = await startOutbox(t);
  const ids = await fileBids(run, await run.stage.orders(3));
  const [first, ...others] = ids as [number, ...number[]];
  run.faults.beforeSimulation = async () => {
    await run.journal.durable("withdraw", ({ intents }) => intents.settle(first, "expired"));
  };
  await run.blocks(3);
  assert.deepEqual(statesOf(run, [first, ...others]), ["expired", "done", "done"]);
});

test("listeners hear of every intent once, in the state that the journal has", async (t) => {
  const run = await startOutbox(t);
  const heard: string[] = [];
  const end = run.outbox.onSettled(({ id, state }) => heard.push(`${id} ${state}`));
  const orders = await run.stage.orders(3);
  const ids = await fileBids(run, orders.slice(0, 2));
  await run.blocks(3);
  end();
  await fileBids(run, orders.slice(2));
  await run.blocks(3);
  assert.deepEqual(
    heard,
    ids.map((id) => `${id} done`),
  );
});

test("an intent that cannot be sent is rejected when filed, and an unknown id when awaited", async (t) => {
  const { outbox } = await startOutbox(t);
  const message = { typeUrl: "/cosmos.gov.v1.MsgVote", value: new Uint8Array() };
  const vote: SendRequest = { subject: "vote", why: "test", message, priority: "account" };
  await assert.rejects(outbox.file(vote), { code: "AKP_MESSAGE_UNKNOWN" });
  await assert.rejects(outbox.wait(77), { code: "AKP_INTENT_UNKNOWN" });
});

test("an account that the chain has never seen is a clear condition", async (t) => {
  const run = await startOutbox(t, { stage: { unknownProvider: true } });
  const [order] = (await run.stage.orders(1)) as [OrderId];
  const id = await run.outbox.file(bidOn(order));
  await run.settle();
  assert.equal(run.outbox.state.stalled?.code, "AKP_WALLET_UNKNOWN");
  assert.match(run.outbox.state.stalled?.advice ?? "", new RegExp(providerKey.address));
  assert.deepEqual(statesOf(run, [id]), ["filed"]);
});

test("an intent that has expired is not sent", async (t) => {
  const run = await startOutbox(t);
  const [order] = (await run.stage.orders(1)) as [OrderId];
  const id = await run.outbox.file({ ...bidOn(order), expiresAtMs: run.clock.now() });
  const settled = run.outbox.wait(id);
  await run.settle();
  assert.equal((await settled).state, "expired");
  await run.block();
  assert.deepEqual(run.stage.bids(), []);
});

test("a bid is made before it is closed, although closing is more urgent", async (t) => {
  const run = await startOutbox(t);
  const [order] = (await run.stage.orders(1)) as [OrderId];
  const close: SendRequest = { ...bidOn(order), message: closeBid(bidIdOn(order)), priority: "close" };
  const ids = await Promise.all([run.outbox.file(bidOn(order)), run.outbox.file(close)]);
  await run.blocks(3);
  assert.deepEqual(statesOf(run, ids), ["done", "done"]);
});

test("a transaction that was under way when the program ended is found by the next one", async (t) => {
  const before = await startOutbox(t);
  const orders = await before.stage.orders(4);
  const ids = await fileBids(before, orders);
  await before.settle();
  assert.deepEqual(statesOf(before, ids), all(4, "sent"));
  await before.stop();
  await before.stage.step();
  const run = await before.restart();
  const waiting = ids.map((id) => run.outbox.wait(id));
  await run.settle();
  assert.deepEqual(statesOf(run, ids), all(4, "done"));
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ state }) => state),
    all(4, "done"),
  );
  assert.equal(run.outbox.counts.transactions, 0);
});

test("stopping does not wait for a node that does not answer", async (t) => {
  const { clock, stage, faults, stop } = await startOutbox(t);
  await stop();
  let calls = 0;
  const ending = new AbortController();
  const { signal } = ending;
  const hanging = () => {
    calls += 1;
    return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const chain = { ...stage.broadcaster, head: hanging };
  const run = await runOutbox(t, { clock, stage, faults }, { dir: temporaryFolder(t), outbox: { chain } });
  await run.outbox.file(bidOn({ owner: parseAddress(tenantKey.address), dseq: 1n, gseq: 1, oseq: 1 }));
  await run.settle();
  assert.equal(calls, 1);
  // The end of the service ends its calls, too.
  ending.abort();
  await run.stop();
});

test("an intent that was filed for another chain is not signed for this one", async (t) => {
  const other = await startOutbox(t);
  other.faults.silent = true;
  await fileBids(other, await other.stage.orders(1));
  await other.stop();
  await assert.rejects(runOutbox(t, other, { dir: other.dir, outbox: { chainId: "elsewhere-1" } }), {
    code: "AKP_OUTBOX_OTHER_KEY",
    message: /the intent 1 of akash1\w+ on outbox-1/,
  });
});

test("a journal with a transaction of another key is not worked on", async (t) => {
  const other = await startOutbox(t);
  const orders = await other.stage.orders(1);
  await fileBids(other, orders);
  await other.settle();
  await other.stop();
  await assert.rejects(runOutbox(t, other, { dir: other.dir, outbox: { chainId: "elsewhere-1" } }), {
    code: "AKP_OUTBOX_OTHER_KEY",
  });
});
