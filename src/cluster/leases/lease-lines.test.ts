import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFolder } from "../../../test/support/folder.ts";
import { hosts, leaseOf } from "../../../test/support/stages/declaration-stage.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { openJournal } from "../../journal/open.ts";
import { formatLeaseId } from "../../market/ids.ts";
import { silentLog } from "../../runtime/log.ts";
import { readLeases } from "./lease-lines.ts";

test("leases, states of their manifests and host names are read from the journal alone", async (t) => {
  const { journal } = await openJournal({ dir: memoryFolder(t), clock: createVirtualClock(), log: silentLog });
  t.after(() => journal.close());
  const [runs, waits, rejected, withdrawn, sent] = [1, 2, 3, 4, 5].map((dseq) => formatLeaseId(leaseOf(1, dseq)));
  assert.ok(runs && waits && rejected && withdrawn && sent);
  const body = JSON.stringify([hosts("b.example.com", "a.example.com")]);
  await journal.durable("test", ({ manifests, deadlines }) => {
    for (const leaseId of [runs, rejected, withdrawn, sent]) manifests.put({ leaseId, version: "v1", body });
    for (const leaseId of [runs, rejected, withdrawn]) manifests.noteDeployed(leaseId, "v1");
    manifests.put({ leaseId: rejected, version: "v2", body: JSON.stringify([hosts("c.example.com")]) });
    manifests.noteRejection(rejected, "v2", "no such class");
    manifests.withdraw(withdrawn);
    deadlines.put({ kind: "manifest", subject: waits, dueAtMs: 1 });
    deadlines.put({ kind: "bid", subject: "an order", dueAtMs: 1 });
  });
  const lines = readLeases(journal.read).map(({ lease, state, why, hosts: names }) => [lease, state, why, names]);
  assert.deepEqual(lines, [
    [runs, "deployed", undefined, ["a.example.com", "b.example.com"]],
    [waits, "waiting for manifest", undefined, []],
    [rejected, "refused", "no such class", ["a.example.com", "b.example.com"]],
    [withdrawn, "withdrawn", undefined, []],
    [sent, "deploying", undefined, []],
  ]);
});
