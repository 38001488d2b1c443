import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/folder.ts";
import { realClock } from "../runtime/clock.ts";
import { silentLog } from "../runtime/log.ts";
import { openJournal } from "./open.ts";

test("observed time is kept in whole milliseconds, although a real clock tells parts of one", async (t) => {
  const { journal } = await openJournal({ dir: temporaryFolder(t), clock: realClock, log: silentLog });
  t.after(() => journal.close());
  await journal.durable("unhealth", ({ unhealth }) =>
    unhealth.put({ leaseId: "lease", sinceMs: 1, observedMs: 1_000.7, atMs: 2 }),
  );
  assert.equal(journal.read.unhealth.get("lease")?.observedMs, 1_000);
});
