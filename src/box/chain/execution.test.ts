import assert from "node:assert/strict";
import { test } from "node:test";
import {
  SimulateRequest,
  SimulateResponse,
  TxBody,
  TxMsgData,
  TxRaw,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Unsigned, unsignedTransaction } from "../../../test/support/chain-signing.ts";
import {
  alice,
  bob,
  carol,
  chainId,
  createTestApp,
  sendMessage,
  type TestApp,
} from "../../../test/support/embedded-app.ts";
import { invariant } from "../../runtime/invariant.ts";
import type { TxResult } from "./abci.ts";
import { Panic } from "./errors.ts";
import type { Module } from "./module.ts";

const keys = [alice, bob];

function assertRejected(result: TxResult, code: number, log: RegExp, codespace = "sdk"): void {
  assert.deepEqual([result.code, result.codespace], [code, codespace], result.log);
  assert.match(result.log, log);
}

test("the messages of a transaction happen all or not at all", () => {
  const chain = createTestApp(keys);
  const before = chain.balance(alice.address);
  const good = sendMessage(alice.address, carol.address, 5);
  const bad = sendMessage(alice.address, carol.address, before);
  const result = chain.deliver(chain.sign(alice, [good, bad, good]));
  assertRejected(result, 5, /^failed to execute message; message index: 1: spendable balance \d+uakt is smaller/);
  assert.equal(chain.balance(carol.address), 0n);
  assert.equal(chain.balance(alice.address), before - 20_000n);
  assert.equal(result.data.length, 0);
  assert.ok(result.events.every(({ attributes }) => attributes.every(({ key }) => key !== "msg_index")));
});

test("every event of a message says which message it belongs to, and every message is answered", () => {
  const chain = createTestApp(keys);
  const result = chain.deliver(
    chain.sign(alice, [sendMessage(alice.address, carol.address, 5), sendMessage(alice.address, bob.address, 7)]),
  );
  const indexes = result.events.map(({ attributes }) => attributes.find(({ key }) => key === "msg_index")?.value);
  assert.deepEqual(indexes.slice(-10), [...Array(5).fill("0"), ...Array(5).fill("1")]);
  assert.ok(indexes.slice(0, -10).every((index) => index === undefined));
  const { msgResponses } = TxMsgData.decode(result.data);
  const url = "/cosmos.bank.v1beta1.MsgSendResponse";
  assert.deepEqual(
    msgResponses.map(({ typeUrl }) => typeUrl),
    [url, url],
  );
});

test("a transaction that runs out of gas in a message pays its fee and changes nothing else", () => {
  const chain = createTestApp(keys);
  const before = chain.balance(alice.address);
  const result = chain.deliver(chain.sign(alice, [sendMessage(alice.address, carol.address, 5)], { gas: 61_000 }));
  assertRejected(result, 11, /^out of gas in location: \w+; gasWanted: 61000, gasUsed: \d+: out of gas$/);
  assert.ok(result.gasUsed > 61_000n);
  assert.equal(chain.balance(carol.address), 0n);
  assert.equal(chain.balance(alice.address), before - 20_000n);
  assert.equal(chain.account(alice.address).sequence, 1n);
});

test("garbage in a block is answered, and the block goes on", () => {
  const chain = createTestApp(keys);
  const tx = chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]);
  const { txResults } = chain.block([Buffer.from("not a transaction"), new Uint8Array(), tx]);
  assertRejected(txResults[0]!, 2, /^tx parse error$/);
  assertRejected(txResults[1]!, 18, /^must contain at least one message: invalid request$/);
  assert.equal(txResults[2]?.code, 0);
});

test("a transaction that is not written as it must be is rejected before anything is looked at", () => {
  const chain = createTestApp(keys);
  const tx = Buffer.from(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  const raw = TxRaw.decode(tx);
  const parts = { ...raw };
  const bodyFirst = 2 + (raw.bodyBytes.length > 127 ? 1 : 0) + raw.bodyBytes.length;
  const cases: [string, Uint8Array, RegExp][] = [
    ["an unknown field", Buffer.concat([tx, Buffer.from([0x22, 0])]), /TagNum: 4, WireType:"bytes"/],
    ["cut short", tx.subarray(0, -1), /tx parse error$/],
    ["out of order", Buffer.concat([tx.subarray(bodyFirst), tx.subarray(0, bodyFirst)]), /got tagNum 1 after tagNum 3/],
    ["a length that is too long", Buffer.concat([tx, Buffer.from([0x1a, 0x80, 0])]), /not as short as possible/],
    ["an unknown field of the body", rawWithBody(parts, [0x30, 1]), /TxBody": {TagNum: 6, WireType:"varint"}/],
  ];
  for (const [what, bytes, log] of cases) {
    const result = chain.app.checkTx(bytes);
    assert.deepEqual([result.code, result.codespace], [2, "sdk"], `${what}: ${result.log}`);
    assert.match(result.log, log, what);
    assert.match(result.log, /: tx parse error: tx parse error$/, what);
  }
});

test("a field of the body that may be ignored is ignored, but it is signed", () => {
  const chain = createTestApp(keys);
  const raw = TxRaw.decode(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  // Field 1024 with the value 1: its number says that it is not critical.
  assertRejected(chain.app.checkTx(rawWithBody(raw, [0x80, 0x40, 1])), 4, /signature verification failed/);
});

test("messages and extensions that the chain does not know are rejected", () => {
  const chain = createTestApp(keys);
  const unknown = { typeUrl: "/akash.nothing.v1.MsgNothing", value: new Uint8Array() };
  assertRejected(chain.app.checkTx(chain.sign(alice, [unknown])), 2, /^unable to resolve type URL \/akash.nothing/);
  const gift = [sendMessage(alice.address, bob.address, 1)];
  const extended = chain.sign(alice, gift, { extensionOptions: [unknown] });
  assertRejected(chain.app.checkTx(extended), 2, /^unable to resolve type URL \/akash.nothing/);
});

test("an address that is none is rejected where it stands", () => {
  const chain = createTestApp(keys);
  assertRejected(
    chain.app.checkTx(chain.sign(alice, [sendMessage("akash1nobody", bob.address, 1)])),
    2,
    /tx parse error/,
  );
  const lost = chain.deliver(chain.sign(alice, [sendMessage(alice.address, "akash1nobody", 1)]));
  assertRejected(lost, 7, /message index: 0: invalid to address: .*: invalid address$/);
});

function simulate(
  chain: TestApp,
  messages = [sendMessage(alice.address, bob.address, 1)],
  sequence = 0n,
  fee?: Unsigned["fee"],
) {
  const signers = [{ key: alice, accountNumber: 0, sequence, anonymous: true }];
  const txBytes = unsignedTransaction({ messages, signers, chainId, gas: 0, ...(fee && { fee }) });
  const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish();
  return chain.app.query("/cosmos.tx.v1beta1.Service/Simulate", request);
}

test("a simulation needs no signature, changes no state, and returns the gas that the transaction will use", () => {
  const chain = createTestApp(keys);
  chain.deliver(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  const before = chain.balance(alice.address);
  const answer = simulate(chain, undefined, 1n);
  assert.equal(answer.code, 0, answer.log);
  const { gasInfo, result } = SimulateResponse.decode(answer.value);
  assert.ok(result?.events.some(({ type }) => type === "transfer"));
  assert.equal(result?.msgResponses[0]?.typeUrl, "/cosmos.bank.v1beta1.MsgSendResponse");
  assert.equal(chain.balance(alice.address), before);
  const real = chain.deliver(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  const [simulated, used] = [Number(gasInfo?.gasUsed), Number(real.gasUsed)];
  assert.ok(simulated > 0.98 * used && simulated < 1.05 * used, `${simulated} simulated, ${used} used`);
});

test("a simulation that fails says why and what it had used, in the words of gRPC", () => {
  const chain = createTestApp(keys);
  const answer = simulate(chain, [sendMessage(alice.address, bob.address, 10n ** 20n)]);
  assert.deepEqual([answer.code, answer.codespace], [6, "sdk"]);
  assert.match(
    answer.log,
    /^rpc error: code = Unknown desc = failed to execute message; message index: 0: .*: insufficient funds with gas used: '\d+': unknown request$/,
  );
  assert.match(simulate(chain, undefined, 4n).log, /account sequence mismatch, expected 0, got 4: incorrect account/);
  assert.match(chain.app.query("/cosmos.tx.v1beta1.Service/Simulate", new Uint8Array()).log, /empty txBytes/);
});

test("a simulation counts on what waits in the pool", () => {
  const chain = createTestApp(keys);
  chain.app.checkTx(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  assert.match(simulate(chain).log, /expected 1, got 0/);
  assert.equal(simulate(chain, undefined, 1n).code, 0);
});

test("a fee of nothing is no fee, however it is written: in a simulation, and in a block that another node made", () => {
  const chain = createTestApp(keys);
  for (const fee of [[], [{ denom: "uakt", amount: "0" }]]) {
    const { code, log } = simulate(chain, undefined, chain.account(alice.address).sequence, fee);
    assert.equal(code, 0, log);
    const tx = chain.sign(alice, [sendMessage(alice.address, bob.address, 1)], { fee });
    assertRejected(chain.app.checkTx(tx), 13, /insufficient fees; got: .* required: 500uakt/);
    assert.equal(chain.deliver(tx).code, 0);
  }
});

test("a fee that the account has not fails in a simulation too", () => {
  const chain = createTestApp(keys);
  const tooMuch = [{ denom: "uakt", amount: `${chain.balance(alice.address) + 1n}` }];
  assert.match(simulate(chain, undefined, 0n, tooMuch).log, /is smaller than .*: insufficient funds with gas used/);
});

test("a panic of the chain's program does not name the message", () => {
  const stumbling: Module = {
    messages: {
      "/test.MsgStumble": {
        signers: () => [alice.address],
        handle: () => {
          throw new Panic("couldn't find payment");
        },
      },
    },
    queries: {},
  };
  const chain = createTestApp(keys, {}, [stumbling]);
  const messages = [
    sendMessage(alice.address, bob.address, 1),
    { typeUrl: "/test.MsgStumble", value: new Uint8Array() },
  ];
  const words = /^recovered: couldn't find payment\nstack:\n.*: panic$/s;
  assertRejected(chain.deliver(chain.sign(alice, messages)), 111222, words, "undefined");
  const simulated = simulate(chain, messages, 1n);
  assert.match(simulated.log, /^rpc error: code = Unknown desc = recovered: couldn't find payment\nstack:\n/);
  assert.doesNotMatch(simulated.log, /message index/);
});

test("the same blocks give the same hashes, and one transaction more gives others", () => {
  const replay = (memo: string) => {
    const chain = createTestApp(keys);
    const hashes = [chain.app.appHash];
    for (let round = 0; round < 3; round++) {
      hashes.push(
        chain.block([chain.sign(alice, [sendMessage(alice.address, bob.address, round + 1)], { memo })]).appHash,
      );
    }
    return hashes.map((hash) => Buffer.from(hash).toString("hex"));
  };
  const first = replay("");
  assert.deepEqual(replay(""), first);
  assert.equal(new Set([...first, ...replay("other")]).size, 7);
});

test("a fault of ours is not mistaken for a rejection, and the block leaves no trace", () => {
  const faulty: Module = {
    messages: {
      "/test.MsgFault": {
        signers: () => [alice.address],
        handle: () => invariant(false, "this cannot be") as never,
      },
    },
    queries: {},
  };
  const chain = createTestApp(keys, {}, [faulty]);
  const before = chain.balance(alice.address);
  const tx = chain.sign(alice, [{ typeUrl: "/test.MsgFault", value: new Uint8Array() }]);
  assert.throws(() => chain.block([tx]), /this cannot be/);
  assert.equal(chain.balance(alice.address), before);
  assert.equal(chain.app.height, 0n);
});

test("what a module does at the end of a block is marked as such", () => {
  const ticking: Module = {
    messages: {},
    queries: {},
    endBlock: ({ emit, height }) =>
      emit({ type: "tick", attributes: [{ key: "at", value: `${height}`, index: true }] }),
  };
  const { events } = createTestApp(keys, {}, [ticking]).block();
  const [tick] = events;
  assert.deepEqual(
    tick?.attributes.map(({ key, value }) => `${key}=${value}`),
    ["at=1", "mode=EndBlock"],
  );
});

test("an unknown query path is rejected as on a real node", () => {
  const { app } = createTestApp(keys);
  const { code, codespace, log, height } = app.query("/akash.oracle.v1.Query/Params", new Uint8Array());
  assert.deepEqual([code, codespace, log, height], [6, "sdk", "unknown query path: unknown request", 0n]);
  assert.ok(app.queryPaths.includes("/cosmos.tx.v1beta1.Service/Simulate"));
});

test("a query whose bytes are no request is rejected", () => {
  const { app } = createTestApp(keys);
  const { code, codespace } = app.query("/cosmos.auth.v1beta1.Query/Account", Buffer.from("no protobuf"));
  assert.deepEqual([code, codespace], [18, "sdk"]);
});

test("blocks come in order, and later ones at later times", () => {
  const chain = createTestApp(keys, { initialHeight: 5n });
  const block = (height: bigint, timeNs: bigint) => () => chain.app.finalizeBlock({ height, timeNs, txs: [] });
  assert.throws(block(1n, chain.nowNs + 1n), /one after the other/);
  block(5n, chain.nowNs + 1n)();
  assert.throws(block(7n, chain.nowNs + 2n), /one after the other/);
  assert.throws(block(6n, chain.nowNs + 1n), /time goes forward/);
  block(6n, chain.nowNs + 2n)();
  assert.equal(chain.app.height, 6n);
});

function rawWithBody(raw: TxRaw, more: readonly number[]): Uint8Array {
  assert.ok(TxBody.decode(raw.bodyBytes));
  return TxRaw.encode({ ...raw, bodyBytes: Buffer.concat([raw.bodyBytes, Buffer.from(more)]) }).finish();
}
