import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, startNode, type TestNode, wordsBase64 } from "../../../../test/support/embedded-node.ts";
import { createOwner } from "../../../../test/support/owner.ts";
import { readJsonRecording } from "../../../../test/support/recordings.ts";
import { openRpcSocket } from "../../../../test/support/rpc-socket.ts";

const owner = createOwner();
let node: TestNode;

before(async () => {
  node = await startNode(owner);
  node.step();
});
after(() => owner[Symbol.asyncDispose]());

for (const method of ["status", "abci_info", "health", "akash", "consensus_params"]) {
  test(`${method} has the keys and kinds that the real node's answer has`, async () => {
    const { text } = await node.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} }));
    assertSameShape(JSON.parse(text), readJsonRecording(`chain/${method}.json`));
  });
}

for (const height of [3, 321, 322, 323, 325, 337, 338, 339, 411, 413, 415]) {
  test(`block and block_results are shaped like the recorded block ${height}`, async () => {
    const recorded = readJsonRecording<Answer>(`chain/blocks/${height}.json`);
    // Like with like: as many transactions, and those that failed there fail here.
    for (const { code } of recorded.block_results.txs_results ?? []) {
      const words = `${code === 0 ? "do" : "fail"} ${height} ${code}`;
      await node.call("broadcast_tx_sync", { tx: wordsBase64(words) });
    }
    const ours = { height: `${node.step().header.height}` };
    assertSameShape(await node.call("block", ours), recorded.block);
    assertSameShape(await node.call("block_results", ours), recorded.block_results);
  });
}

test("what does not depend on the chain is the same, value for value", async () => {
  const recorded = (name: string) => readJsonRecording<Answer>(`chain/${name}.json`).result;
  const akash = await node.call("akash");
  assert.deepEqual({ ...akash, chain_id: "lab-1" }, recorded("akash"));
  const { consensus_params } = await node.call("consensus_params");
  assert.deepEqual(consensus_params, recorded("consensus_params").consensus_params);
  const { consensus_param_updates, validator_updates } =
    readJsonRecording<Answer>("chain/blocks/411.json").block_results;
  const ours = await node.call("block_results");
  assert.deepEqual(ours.consensus_param_updates, consensus_param_updates);
  assert.deepEqual(ours.validator_updates, validator_updates);
});

test("a header subscription is answered and served like the recorded one", async () => {
  const recorded = readJsonRecording<Answer[]>("chain/subscribe-header.json");
  const client = await openRpcSocket(owner, node.rpcUrl);
  client.send("subscribe", { query: "tm.event='NewBlockHeader'" });
  await client.first(1);
  for (let blocks = 1; blocks < recorded.length; blocks++) node.step();
  const messages = await client.first(recorded.length);
  for (const [index, message] of messages.entries()) assertSameShape(message, recorded[index]);
  assert.equal(messages[1].result.query, recorded[1].result.query);
  assert.equal(messages[1].result.data.type, recorded[1].result.data.type);
  assert.deepEqual(messages[1].result.events, recorded[1].result.events);
});

test("a broadcast is answered with the fields of the recorded ones, the same bytes again with their error", async () => {
  const recorded = readJsonRecording<Answer[]>("chain/refused.json");
  const answerTo = (label: string) => recorded.find((each) => each.label === label)?.answer;
  const tx = wordsBase64("three");
  const fine = await node.call("broadcast_tx_sync", { tx });
  assertSameShape(fine, answerTo("fine"));
  assertSameShape(await node.call("broadcast_tx_sync", { tx: wordsBase64("bad one") }), answerTo("fee too small"));
  const { text } = await node.post(
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "broadcast_tx_sync", params: { tx } }),
  );
  assert.deepEqual(JSON.parse(text).error, answerTo("the same bytes again"));
});

/** The same keys in the same order, and values of the same kind; numbers in text stay numbers in text. */
function assertSameShape(ours: unknown, theirs: unknown, at = "answer"): void {
  const kind = /\.(value|log|data|moniker)$/.test(at) ? roughKindOf : kindOf;
  assert.equal(kind(ours), kind(theirs), at);
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    const [first] = ours;
    for (const [index, their] of theirs.entries()) {
      if (kindOf(first) === "object") assertSameShape(ours[index] ?? first, their, `${at}[${index}]`);
    }
    return;
  }
  if (kindOf(ours) !== "object") return;
  const [our, their] = [ours as Answer, theirs as Answer];
  assert.deepEqual(Object.keys(our), Object.keys(their), at);
  for (const key of Object.keys(our)) assertSameShape(our[key], their[key], `${at}.${key}`);
}

function kindOf(value: unknown): string {
  if (typeof value !== "string") return roughKindOf(value);
  if (/^-?\d+$/.test(value)) return "number in text";
  if (/^[\dA-F]{64}$/.test(value)) return "hash";
  if (/^[\dA-F]{40}$/.test(value)) return "address";
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value)) return "time";
  return "text";
}

/** Free text may look like anything. */
function roughKindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
}
