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
  const [runs, waits, refused, withdrawn, sent] = [1, 2, 3, 4, 5].map((dseq) => formatLeaseId(leaseOf(1, dseq)));
  assert.ok(runs && waits && refused && withdrawn && sent);
  const body = JSON.stringify([hosts("b.example.com", "a.example.com")]);
  await journal.durable("test", ({ manifests, deadlines }) => {
    for (const leaseId of [runs, refused, withdrawn, sent]) manifests.put({ leaseId, version: "v1", body });
    for (const leaseId of [runs, refused, withdrawn]) manifests.noteDeployed(leaseId, "v1");
    manifests.put({ leaseId: refused, version: "v2", body: JSON.stringify([hosts("c.example.com")]) });
    manifests.noteRejection(refused, "v2", "no such class");
    manifests.withdraw(withdrawn);
    deadlines.put({ kind: "manifest", subject: waits, dueAtMs: 1 });
    deadlines.put({ kind: "bid", subject: "somebody's order", dueAtMs: 1 });
  });
  const told = readLeases(journal.read).map(({ lease, state, why, hosts: names }) => [lease, state, why, names]);
  assert.deepEqual(told, [
    [runs, "deployed", undefined, ["a.example.com", "b.example.com"]],
    [waits, "waiting for manifest", undefined, []],
    [refused, "refused", "no such class", ["a.example.com", "b.example.com"]],
    [withdrawn, "withdrawn", undefined, []],
    [sent, "deploying", undefined, []],
  ]);
});
