import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryBalanceRequest, QueryBalanceResponse } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import fc from "fast-check";
import { alice, bob, createTestApp, sendMessage } from "../../../test/support/embedded-app.ts";
import { startNode } from "../../../test/support/embedded-node.ts";
import { openGrpcClient } from "../../../test/support/grpc-client.ts";
import { runs } from "../../../test/support/runs.ts";
import { chainStatesKept } from "./app.ts";
import { createPastStates } from "./past-states.ts";
import { createStore, type Store } from "./store.ts";

const tables = ["one", "two"];

function contents(store: Store): unknown {
  return tables.map((name) => [...store.table<number>(name).entries()]);
}

const write = fc.record({
  table: fc.constantFrom(...tables),
  key: fc.stringMatching(/^[ab]{1,2}$/),
  value: fc.option(fc.integer(), { nil: undefined }),
  failed: fc.boolean(),
});

test("whatever blocks write and take back, every height that is kept reads as it did then", () => {
  fc.assert(
    fc.property(fc.array(fc.array(write)), (blocks) => {
      const store = createStore();
      const pastStates = createPastStates(store, { heights: 5, keys: 20 });
      const then: unknown[] = [];
      for (const [height, writes] of blocks.entries()) {
        then.push(contents(store));
        const { replaced } = store.revise(() => {
          for (const { table, key, value, failed } of writes) {
            const apply = () => {
              if (value === undefined) store.table(table).delete(key);
              else store.table(table).set(key, value);
            };
            const work = () => {
              apply();
              if (failed) throw new Error("no");
            };
            if (failed) assert.throws(() => store.transaction(work), /no/);
            else store.transaction(work);
          }
        });
        pastStates.add({ chainId: "lab-1", height: BigInt(height), timeNs: BigInt(height) }, replaced);
        const now = contents(store);
        for (let queried = 0n; queried <= BigInt(height); queried++) {
          const state = pastStates.at(queried);
          assert.equal(state === undefined, pastStates.lowest === undefined || queried < pastStates.lowest);
          if (state) assert.deepEqual([state.point.height, contents(state.store)], [queried, then[Number(queried)]]);
        }
        assert.deepEqual(contents(store), now, "looking back changes nothing");
      }
    }),
    { numRuns: runs(100, 5_000) },
  );
});

test("past states hold no more heights and no more written keys than it may", () => {
  const store = createStore();
  const pastStates = createPastStates(store, { heights: 3, keys: 10 });
  const block = (height: bigint, keys: number) => {
    const { replaced } = store.revise(() => {
      for (let key = 0; key < keys; key++) store.table("one").set(`${key}`, height);
    });
    pastStates.add({ chainId: "lab-1", height, timeNs: height }, replaced);
    return pastStates.lowest;
  };
  assert.deepEqual(
    [1n, 2n, 3n, 4n].map((height) => block(height, 1)),
    [1n, 1n, 1n, 2n],
  );
  assert.equal(block(5n, 9), 4n);
  assert.equal(block(6n, 11), undefined);
});

const balancePath = "/cosmos.bank.v1beta1.Query/Balance";
const ofBob = QueryBalanceRequest.encode({ address: bob.address, denom: "uakt" }).finish();

function amountIn(value: Uint8Array): bigint {
  return BigInt(QueryBalanceResponse.decode(value).balance?.amount ?? 0);
}

test("a few hundred heights can be queried, and no older ones", () => {
  const chain = createTestApp([alice]);
  for (let sent = 1; sent <= 5; sent++) chain.deliver(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  const heights = [1n, 2n, 3n, 4n, 5n];
  assert.deepEqual(
    heights
      .map((height) => chain.app.query(balancePath, ofBob, height))
      .map(({ value, height }) => [amountIn(value), height]),
    heights.map((height) => [height, height]),
  );
  assert.equal(chain.app.lowestHeight, 1n, "the state before the first block has no height");
  while (chain.app.height < 300n + 5n) chain.block();
  assert.equal(chain.app.lowestHeight, 5n);
  assert.equal(amountIn(chain.app.query(balancePath, ofBob, 5n).value), 5n);
  assert.equal(chainStatesKept, 300);
});

test("an old height is answered over RPC and gRPC, in the words of a real node where it is gone", async (t) => {
  const chain = createTestApp([alice]);
  for (let sent = 1; sent <= 3; sent++) chain.deliver(chain.sign(alice, [sendMessage(alice.address, bob.address, 1)]));
  while (chain.app.height < 302n) chain.block();
  const node = await startNode(t, { app: chain.app });
  const queryAt = async (height: number) => {
    const data = Buffer.from(ofBob).toString("hex");
    const { response } = await node.call("abci_query", { path: balancePath, data, height: `${height}` });
    return response;
  };
  const found = await queryAt(2);
  assert.deepEqual([amountIn(Buffer.from(found.value, "base64")), found.height], [2n, "2"]);
  const gone = await queryAt(1);
  assert.deepEqual([gone.code, gone.codespace], [38, "sdk"]);
  assert.match(gone.log, /^failed to load state at height 1; .* \(latest height: 302\): not found$/);
  const { call } = openGrpcClient(t, node.grpcUrl);
  const reply = await call(balancePath, ofBob, { "x-cosmos-block-height": "3" });
  assert.deepEqual([amountIn(reply.message), reply.headers["x-cosmos-block-height"]], [3n, "3"]);
});
