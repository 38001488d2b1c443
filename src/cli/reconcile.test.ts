import assert from "node:assert/strict";
import { test } from "node:test";
import { reportLines } from "./reconcile.ts";

const compared = { leases: 2, namespaces: 2, resources: 1, manifests: 2, reservations: 2 };
const about = { atMs: 600_000, height: "42", dryRun: true, compared, more: 0, unasked: 0 };

test("that all agree is said with what was compared, at which height", () => {
  assert.deepEqual(reportLines({ ...about, drifts: [] }), [
    "chain, cluster and journal agree: 2 leases at height 42, 2 namespaces, 1 Manifest resources, 2 manifests, 2 reservations",
  ]);
});

test("each drift is a row, with what was seen and what is done below it", () => {
  const drifts = [
    {
      kind: "resource-missing",
      subject: "a/1/1/1/p",
      evidence: "it is not there",
      remedy: "it is made",
      sinceMs: 600_000,
    },
    { kind: "namespace-foreign", subject: "ns", evidence: "of p2", remedy: "nothing", sinceMs: 0 },
  ] as const;
  assert.deepEqual(reportLines({ ...about, drifts, more: 3 }), [
    "DRIFT              AGE  SUBJECT",
    "resource-missing   0s   a/1/1/1/p",
    "  it is not there",
    "  it is made",
    "namespace-foreign  10m  ns",
    "  of p2",
    "  nothing",
    "and 3 more",
    "dry run, nobody was woken: 5 differences among 2 leases at height 42, 2 namespaces, 1 Manifest resources, 2 manifests, 2 reservations",
  ]);
});
