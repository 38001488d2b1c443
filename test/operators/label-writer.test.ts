import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { checkLabelWriter, type LabelStage, start } from "../support/contracts/label-writer.contract.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import type { Owner } from "../support/owner.ts";

async function open(owner: Owner) {
  const { connect, server, faults } = simulateKube(owner);
  const node = "a";
  server.create(kinds.node, { metadata: { name: node } }, "kubelet");
  const edit: LabelStage["edit"] = async (manager, changes) => {
    const before = server.get(kinds.node, { name: node });
    assert.ok(before);
    const labels = Object.entries({ ...before.metadata.labels, ...changes }).filter(([, value]) => value !== null);
    const metadata = { ...before.metadata, labels: Object.fromEntries(labels) as Record<string, string> };
    server.update(kinds.node, { ...before, metadata }, manager);
  };
  return { kube: connect("akash-operator-inventory"), node, edit, faults };
}

checkLabelWriter({ name: "the simulated cluster", skip: false, open });

test("a rejected write is retried", async (t) => {
  const { faults, ...stage } = await open(t);
  faults.reject({ status: 403, verb: "patch", kind: kinds.node });
  const { writer, carries } = start(t, stage, () => ({ "akash.network": "true" }));
  await carries({ "akash.network": "true" });
  assert.equal(writer.queue.counts.outcomes.failed, 1);
});
