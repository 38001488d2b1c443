import assert from "node:assert/strict";
import { test } from "node:test";
import { closingLines } from "./lease.ts";
import { leaseRows } from "./leases.ts";

const namespace = "q9f6b2s34hmde3vje8r9o44420t83aa0u6k2s1fcv4noe";

test("each lease is a row, and what is wrong with it stands below", () => {
  const rows = leaseRows([
    {
      lease: "a/1/1/1/p",
      namespace,
      state: "deployed",
      hosts: ["a.com", "b.com"],
      addresses: ["203.0.113.9"],
      ageMs: 180_000,
      health: {
        state: "unhealthy",
        services: [
          { name: "db", wanted: 1, ready: 1, unobserved: 0 },
          { name: "web", wanted: 3, ready: 1, unobserved: 0 },
        ],
        troubles: [{ service: "web", reason: "ImageError", message: "no such image", replicas: 2, sinceMs: 0 }],
      },
      unwell: { observedMs: 90_500, limitMs: 460_000 },
      usage: { cpuNano: "1", memoryBytes: "1024" },
      leased: { cpuMilli: "100", memoryBytes: "2048", storageBytes: "0" },
    },
    {
      lease: "akash1long/22/1/1/p",
      namespace,
      state: "refused",
      why: "no such image",
      withheld: ["c.com: held by another owner"],
      kept: ["db", "web"],
      rolling: ["cache"],
      hosts: [],
      ageMs: undefined,
      reclaimedAtMs: 60_000,
    },
  ]);
  assert.deepEqual(rows, [
    "LEASE                AGE  STATE     READY  CPU         MEMORY      STORAGE  NAMESPACE                                      HOSTS        ADDRESSES",
    `a/1/1/1/p            3m   deployed  2/4    1m of 100m  1Ki of 2Ki  ? of 0   ${namespace}  a.com b.com  203.0.113.9`,
    "  web ×2: ImageError: no such image",
    "  unhealthy for 1m30s; the lease is closed after 7m40s unhealthy",
    `akash1long/22/1/1/p       refused                                           ${namespace}`,
    "  reclaiming until 1970-01-01T00:01:00.000Z, then it is closed",
    "  no such image",
    "  withheld: c.com: held by another owner",
    "  runs with an older pod template: db, web",
    "  pods are being replaced: cache",
  ]);
});

test("while no unhealthy lease is closed, the reason stands in place of the limit", () => {
  const heldBy = "leases of 3 of 6 owners are unhealthy at once";
  const unwell = { observedMs: 90_500, limitMs: 460_000, heldBy };
  const health = { state: "unhealthy", services: [], troubles: [] } as const;
  const line = { lease: "a/1/1/1/p", namespace, state: "deployed", hosts: [], ageMs: 180_000, unwell, health } as const;
  const rows = leaseRows([line]);
  assert.equal(rows.at(-1), `  unhealthy for 1m30s; not counted now: ${heldBy}`);
});

test("a lease that works again has no unhealthy line, also before its time is forgotten", () => {
  const health = { state: "healthy", services: [], troubles: [] } as const;
  const unwell = { observedMs: 0, limitMs: 460_000 };
  const rows = leaseRows([
    { lease: "a/1/1/1/p", namespace, state: "deployed", hosts: [], ageMs: 9_000, unwell, health },
  ]);
  assert.equal(rows.length, 2);
});

test("what a close costs is said, and that data goes with it", () => {
  const loses = {
    price: "10uact",
    namespace,
    hosts: ["a.com"],
    services: [
      { name: "db", count: 1 },
      { name: "web", count: 3 },
    ],
    volumes: [{ service: "db", name: "data", bytes: "10737418240" }],
  };
  const about = { lease: "a/1/1/1/p", reason: "decommission", loses } as const;
  assert.deepEqual(closingLines({ ...about, message: "closeBid", dryRun: true, underWay: false }), [
    "dry run: the lease would be closed (reason: decommission)",
    "  lease      a/1/1/1/p",
    "  income     10uact per block",
    "  services   db, web ×3",
    "  hosts      a.com",
    "  volumes    data of db (10Gi): what is in them is lost for good",
    `  namespace  ${namespace}`,
  ]);
  const head = (more: { closesAtMs?: number; underWay?: boolean }) =>
    closingLines({ ...about, message: "closeBid", dryRun: false, underWay: false, ...more })[0] ?? "";
  assert.match(head({}), /^the lease is closed \(reason: decommission\)$/);
  assert.equal(
    head({ closesAtMs: 60_000 }),
    "its tenant is told now; the lease is closed by itself about 1970-01-01T00:01:00.000Z (reason: decommission)",
  );
  assert.match(head({ underWay: true }), /^somebody has ended it already/);
});
