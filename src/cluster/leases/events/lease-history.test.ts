import assert from "node:assert/strict";
import { test } from "node:test";
import { historyEvent } from "./lease-history.ts";

test("each kind of history line has a reason of its own, and a warning where the tenant loses something", () => {
  const cases = [
    ["manifest received: version 1", "Normal ManifestReceived"],
    ["manifest withdrawn by its owner", "Normal ManifestWithdrawnByItsOwner"],
    ["manifest restored from the cluster", "Normal ManifestRestoredFromTheCluster"],
    ["deployed: manifest 1", "Normal Deployed"],
    ["updated: manifest 2", "Normal Updated"],
    ["refreshed: our newest pod templates", "Normal Refreshed"],
    ["taken over: 3 objects of the provider before us", "Normal TakenOver"],
    ["torn down: closed on chain since height 9, by a reading at height 10", "Normal TornDown"],
    ["refused: manifest 2: invalid", "Warning Refused"],
    ["closeBid filed: unhealthy for 90 s: web: CrashLoop", "Warning CloseBidFiled"],
    ["startReclaim filed: closed by the operator", "Warning StartReclaimFiled"],
    ["drift found: namespace-missing: it runs", "Normal DriftFound"],
    ["drift is gone: namespace-missing", "Normal DriftIsGone"],
  ] as const;
  for (const [line, expected] of cases) {
    const { type, reason } = historyEvent({ id: 1, kind: "lease", subject: "lease", line, atMs: 0 });
    assert.equal(`${type} ${reason}`, expected);
  }
});
