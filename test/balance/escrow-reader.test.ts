/** Escrows as they were after one block, whatever the chain does meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readEscrows } from "../../src/balance/escrow-reader.ts";
import { chainStatesKept } from "../../src/box/chain/app.ts";
import type { Queries } from "../../src/chain/chain.ts";
import { type DeploymentId, deploymentOf, type LeaseId } from "../../src/market/ids.ts";
import { rpcMirrorSingles } from "../../src/runtime/limits.ts";
import { type EscrowStage, setUpEscrows } from "./escrow-stage.ts";

/** Two that run, of which one pays another provider too, and one that is over. */
async function someEscrows(stage: EscrowStage): Promise<DeploymentId[]> {
  const leases = [
    await stage.lease(2n, "9000000uact", ["other", "30uact"], ["us", "10uact"]),
    await stage.lease(1n, "9000000uakt", ["us", "20uakt"]),
    await stage.lease(3n, "9000000uakt", ["us", "20uakt"]),
  ];
  await stage.close(3n);
  return leases.map(([lease]) => deploymentOf(lease as LeaseId));
}

/** Something happens after the first answer of any kind. */
function interrupted(queries: Queries, happening: () => void): Queries {
  let isFirst = true;
  const after = async <T>(answering: Promise<T>): Promise<T> => {
    const answer = await answering;
    if (isFirst) happening();
    isFirst = false;
    return answer;
  };
  return {
    ...queries,
    deployment: (...args) => after(queries.deployment(...args)),
    openEscrowAccounts: (...args) => after(queries.openEscrowAccounts(...args)),
  };
}

for (const { how, more } of [
  { how: "one by one", more: 0 },
  { how: "from the chain's lists", more: rpcMirrorSingles },
]) {
  /** Those that never were are left out as those are that ended. */
  const requestedIds = (ids: readonly DeploymentId[]) => [
    ...ids,
    ...Array.from(
      { length: more },
      (_, index): DeploymentId => ({ ...(ids[0] as DeploymentId), dseq: 1_000n + BigInt(index) }),
    ),
  ];

  test(`an escrow read ${how} is of one height, with all payments in the chain's order`, async (t) => {
    const stage = await setUpEscrows(t);
    const ids = requestedIds(await someEscrows(stage));
    const height = stage.node.height;
    const queries = interrupted(stage.queries, () => void stage.node.step());
    const { escrows } = await readEscrows(queries, ids, { atOrAbove: height });
    assert.deepEqual(
      escrows.map((escrow) => [escrow.deployment.dseq, escrow.payments.map(({ rate }) => rate.denom)]),
      [
        [2n, ["uact", "uact"]],
        [1n, ["uakt"]],
      ],
    );
    assert.equal(escrows[0]?.height, height);
    const keys = escrows[0]?.payments.map(({ key }) => key) ?? [];
    assert.deepEqual(keys, keys.toSorted());
    assert.equal(escrows[0]?.account.height, height);
    assert.equal(stage.node.height, height + 1n);
  });

  test(`escrows read ${how} are read again after the node pruned the height`, async (t) => {
    const stage = await setUpEscrows(t);
    const ids = requestedIds(await someEscrows(stage));
    const queries = interrupted(stage.queries, () => {
      for (let made = 0; made <= chainStatesKept; made += 1) stage.node.step();
    });
    const { escrows } = await readEscrows(queries, ids, {});
    assert.deepEqual(
      escrows.map(({ height }) => height),
      [stage.node.height, stage.node.height],
    );
  });
}

test("where no node gives whole lists, many escrows are read one by one as well", async (t) => {
  const stage = await setUpEscrows(t);
  const ids = await someEscrows(stage);
  const failing: Queries = {
    ...stage.queries,
    openEscrowPayments: () => Promise.reject(new Error("this node does not serve lists")),
  };
  const many = Array.from({ length: rpcMirrorSingles }, () => ids[0] as DeploymentId);
  const { escrows } = await readEscrows(failing, [...ids, ...many], {});
  assert.deepEqual([escrows.length, escrows[0]?.payments.length], [2 + many.length, 2]);
});

test("where nodes keep no state for as long as reading many takes, each escrow is still of one height", async (t) => {
  const stage = await setUpEscrows(t);
  const ids = await someEscrows(stage);
  let calls = 0;
  const forgetting: Queries = {
    ...stage.queries,
    openEscrowPayments: () => Promise.reject(new Error("the state is gone")),
    async deployment(...question) {
      calls += 1;
      // Every so often so many blocks come that the states before are forgotten.
      if (calls % 20 === 0) for (let made = 0; made <= chainStatesKept; made += 1) stage.node.step();
      return stage.queries.deployment(...question);
    },
  };
  const many = Array.from({ length: rpcMirrorSingles }, () => ids[0] as DeploymentId);
  const { escrows } = await readEscrows(forgetting, [...ids, ...many], {});
  assert.equal(escrows.length, 2 + many.length);
  for (const { height, account, payments } of escrows) {
    assert.deepEqual(new Set([account.height, ...payments.map((payment) => payment.height)]), new Set([height]));
  }
});
