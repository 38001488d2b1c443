import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { runCommand } from "../../test/support/live-provider.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { historyOf, isForTenant } from "../cluster/leases/events/lease-history.ts";
import { openJournal } from "../journal/open.ts";
import { parseTime } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";

const order = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/7/1/1";
const lease = `${order}/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6`;

test("the command merges what we did, saw and heard of a lease, by its id or its order's, beside a provider", async (t) => {
  const dir = temporaryFolder(t);
  const clock = createVirtualClock(parseTime("2026-11-16T12:00:00Z"));
  const { journal } = await openJournal({ dir, clock, log: silentLog });
  t.after(() => journal.close());
  const written = journal.durable("test", ({ history, occurrences }) => {
    history.add({ kind: "manifest", subject: lease, line: "manifest received: version ab" });
    history.add({ kind: "lease", subject: lease, line: "refused: manifest ab: no \u001b[31mroom" });
    history.add({ kind: "reconcile", subject: lease, line: "drift is gone: reservation-missing" });
    history.add({ kind: "lease", subject: `${order}2/other`, line: "deployed: manifest cd" });
    occurrences.record({
      ...{ leaseId: lease, key: "a", origin: "cluster", type: "Warning", reason: "BackOff", object: "Pod web-0" },
      ...{ note: "Back-off restarting", count: 37, counted: "", reportingController: "kubelet", reportingInstance: "" },
      ...{ firstAtMs: parseTime("2026-11-16T08:00:00Z"), lastAtMs: parseTime("2026-11-16T12:30:00Z") },
    });
  });
  await Promise.all([written, clock.settle()]);
  const { code, stdout, stderr } = await runCommand("lease", "history", order, "--limit", "3", "--data-dir", dir);
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.split("\n"), [
    "LAST                  FIRST                 COUNT  TYPE     REASON       ABOUT      WHAT",
    "2026-11-16T12:00:00Z                               Warning  Refused                 refused: manifest ab: no  [31mroom",
    "2026-11-16T12:00:00Z                               Normal   DriftIsGone             drift is gone: reservation-missing",
    "2026-11-16T12:30:00Z  2026-11-16T08:00:00Z  37     Warning  BackOff      Pod web-0  Back-off restarting",
    "",
  ]);
  const forTenant = historyOf(journal.read, lease, 10, isForTenant).map(({ reason }) => reason);
  assert.deepEqual(forTenant, ["ManifestReceived", "Refused", "BackOff"], "drift is none of a tenant's business");
});
