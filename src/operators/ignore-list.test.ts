import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseOf } from "../../test/support/stages/declaration-stage.ts";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { formatLeaseId } from "../market/ids.ts";
import { leaseNamespace } from "../market/lease-namespace.ts";
import { createIgnoreList } from "./ignore-list.ts";

const options = { failureLimit: 3, entryLimit: 100, ageLimitMs: 1_000 };
const lease = leaseOf(1, 1);

test("a lease is flagged at its third failure, and cleared by successes", () => {
  const list = createIgnoreList(options, createVirtualClock(Date.UTC(2026, 10, 15, 8)));
  assert.equal(list.view(), undefined);
  for (const flagged of [false, false, true]) {
    list.failed(lease, new Error("no IP addresses available in pool"), "a.example.com");
    assert.equal(list.isFlagged(lease), flagged);
  }
  assert.deepEqual(list.view(), {
    [formatLeaseId(lease)]: {
      hostnames: ["a.example.com"],
      "last-error": "unexpected error: no IP addresses available in pool",
      "last-error-type": "AKP_INTERNAL",
      "failed-at": "2026-11-15 08:00:00.000 +0000 UTC",
      "failure-count": 3,
      namespace: leaseNamespace(lease),
    },
  });
  list.failed(lease, new Error("once more"), "b.example.com");
  list.succeeded(lease, "a.example.com");
  assert.equal(list.isFlagged(lease), true);
  list.succeeded(lease, "b.example.com");
  assert.equal(list.isFlagged(lease), false);
  assert.equal(list.view(), undefined);
});

test("pruning removes old entries first, then down to the limit", async () => {
  const clock = createVirtualClock();
  const list = createIgnoreList(options, clock);
  for (let at = 1; at <= 20; at += 1) list.failed(leaseOf(1, at), new Error("old"), "a");
  await clock.advance(2_000);
  for (let at = 21; at <= 110; at += 1) list.failed(leaseOf(1, at), new Error("new"), "a");
  list.prune();
  assert.equal(list.size, 100);
  for (let at = 111; at <= 250; at += 1) list.failed(leaseOf(1, at), new Error("new"), "a");
  list.prune();
  assert.equal(list.size, 100);
  assert.ok(Object.values(list.view() ?? {}).every((entry) => JSON.stringify(entry).includes("new")));
});
