/** Compares recorded answers of a real node: the same transactions, rebuilt with our key and the real clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MsgCreateProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { MsgSend, SimulateRequest, SimulateResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { signTransaction, testKey, type Unsigned, unsignedTransaction } from "../../../test/support/chain-signing.ts";
import { createTestApp, second, sendMessage, type TestApp } from "../../../test/support/embedded-app.ts";
import { readJsonRecording } from "../../../test/support/recordings.ts";
import type { AbciEvent } from "./abci.ts";
import { bankModule } from "./modules/bank/bank.ts";
import { providerModule } from "./modules/provider/provider.ts";
import { decodeTransaction } from "./transaction.ts";

interface RejectedTx {
  readonly label: string;
  readonly tx: string;
  readonly answer: { readonly code: number; readonly codespace: string; readonly log: string };
}

interface RecordedBlock {
  readonly block: { readonly block: { readonly data: { readonly txs: readonly string[] } } };
  readonly block_results: {
    readonly txs_results: readonly {
      readonly code: number;
      readonly codespace: string;
      readonly log: string;
      readonly data: string | null;
      readonly gas_wanted: string;
      readonly gas_used: string;
      readonly events: readonly AbciEvent[];
    }[];
  };
}

const chainId = "lab-1";
/** The recorded sender is the seventh account of its chain and has signed one ordered transaction. */
const sender = testKey("the sender of the recorded transactions");
const others = Array.from({ length: 6 }, (_, index) => testKey(`other ${index}`));
/** 2026-11-15T08:23:55.615665784Z, the time of the block before which the recorded answers were given. */
const recordedNs = 1_794_731_035_615_665_784n;
const entries = new Map(Object.entries({ ...bankModule.messages, ...providerModule.messages }));

test("every transaction that a real node rejected is rejected with the same code, codespace and words", () => {
  for (const { label, tx, answer } of readJsonRecording<RejectedTx[]>("chain/refused.json")) {
    if (label === "the same bytes again") continue; // The pool's answer, not the application's.
    const chain = recordedChain();
    const bytes = label === "garbage" ? Buffer.from(tx, "base64") : rebuild(tx, label);
    const { code, codespace, log } = chain.app.checkTx(bytes);
    assert.deepEqual({ code, codespace, log: shape(log) }, { ...pick(answer), log: shape(answer.log) }, label);
  }
});

test("the transactions of a real block give the same results and events", () => {
  const recorded = readJsonRecording<RecordedBlock>("chain/blocks/415.json");
  const chain = recordedChain();
  const { txResults } = chain.block(recorded.block.block.data.txs.map((tx) => rebuild(tx, "")));
  compare(recorded, txResults, "akash1k66augwulg83awft5pn3fc4keunmesdcfsjtmg");
});

test("a provider that registers leaves the same events as on a real chain", () => {
  const recorded = readJsonRecording<RecordedBlock>("chain/blocks/3.json");
  const chain = createTestApp([sender], { timeNs: recordedNs });
  const { txResults } = chain.block(recorded.block.block.data.txs.map((tx) => rebuild(tx, "", 0n)));
  compare(recorded, txResults, "akash14qwqwt3y8x7yas7c9el6jw6grpuwhk042prk04");
});

test("a simulation without a fee falls short of the block by as much as on a real chain", () => {
  const recorded = readJsonRecording<RecordedBlock>("chain/blocks/3.json");
  const [real] = recorded.block_results.txs_results;
  const [tx = ""] = recorded.block.block.data.txs;
  assert.ok(real);
  // The recorded client set a gas limit of 1.6 times the simulated gas.
  const realShort = Number(real.gas_used) - Number(real.gas_wanted) / 1.6;
  const chain = createTestApp([sender], { timeNs: recordedNs });
  const bare = unsignedTransaction({ ...recordedTransaction(tx, "", 0n), gas: 0n, fee: [] });
  const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes: bare })).finish();
  const { gasInfo } = SimulateResponse.decode(chain.query("/cosmos.tx.v1beta1.Service/Simulate", request));
  const { gasUsed } = chain.deliver(rebuild(tx, "", 0n));
  const share = (Number(gasUsed) - Number(gasInfo?.gasUsed)) / realShort;
  assert.ok(share > 0.95 && share < 1.05, `${share} of what was missing there`);
});

function recordedChain(): TestApp {
  const chain = createTestApp([...others, sender], { timeNs: recordedNs - 2n * second });
  chain.block([chain.sign(sender, [sendMessage(sender.address, sender.address, 1)])]);
  chain.block();
  assert.equal(chain.nowNs, recordedNs);
  return chain;
}

/** The recorded transaction with our key and address in place of the recorded ones. */
function rebuild(base64: string, label: string, accountNumber?: bigint): Uint8Array {
  return signTransaction(recordedTransaction(base64, label, accountNumber));
}

function recordedTransaction(base64: string, label: string, accountNumber = 6n): Unsigned {
  const tx = decodeTransaction(Buffer.from(base64, "base64"), entries);
  const [info] = tx.signerInfos;
  assert.ok(tx.fee && info);
  return {
    messages: tx.messages.map(({ typeUrl, value }) => ({ typeUrl, value: withOurAddress(typeUrl, value) })),
    signers: [{ key: sender, accountNumber, sequence: info.sequence }],
    chainId: label === "signed for another chain" ? "another-1" : chainId,
    gas: tx.fee.gasLimit,
    fee: tx.fee.coins.map(({ denom, amount }) => ({ denom, amount: `${amount}` })),
    ...(tx.unordered && { unorderedNs: tx.timeoutNs }),
  };
}

function withOurAddress(typeUrl: string, value: Uint8Array): Uint8Array {
  const { address } = sender;
  if (typeUrl.endsWith("MsgSend")) {
    return MsgSend.encode({ ...MsgSend.decode(value), fromAddress: address, toAddress: address }).finish();
  }
  return MsgCreateProvider.encode({ ...MsgCreateProvider.decode(value), owner: address }).finish();
}

function compare(recorded: RecordedBlock, results: ReturnType<TestApp["block"]>["txResults"], address: string): void {
  const expected = recorded.block_results.txs_results;
  assert.equal(results.length, expected.length);
  for (const [index, theirs] of expected.entries()) {
    const ours = results[index];
    assert.ok(ours);
    assert.deepEqual({ ...pick(ours), log: shape(ours.log) }, { ...pick(theirs), log: shape(theirs.log) });
    assert.equal(Buffer.from(ours.data).toString("base64"), theirs.data ?? "");
    assert.equal(ours.gasWanted, BigInt(theirs.gas_wanted));
    const share = Number(ours.gasUsed) / Number(theirs.gas_used);
    assert.ok(share > 0.9 && share < 1.1, `gas used: ${ours.gasUsed} here, ${theirs.gas_used} there`);
    assert.deepEqual(plain(ours.events, sender.address), plain(theirs.events, address));
  }
}

function plain(events: readonly AbciEvent[], sender: string): unknown {
  return events.map(({ type, attributes }) => ({
    type,
    attributes: attributes.map(({ key, value, index }) => ({
      key,
      value: key === "signature" ? "a signature" : value.replaceAll(sender, "the sender"),
      index,
    })),
  }));
}

function pick({ code, codespace }: { code: number; codespace: string }) {
  return { code, codespace };
}

/** Without the figures that depend on what happened on the recorded chain before. */
function shape(log: string): string {
  return log.replace(/gasUsed: \d+/, "gasUsed: …").replace(/spendable balance \d+/, "spendable balance …");
}
