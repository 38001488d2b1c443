import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { refreshLeases } from "./lease-refresh.ts";

const healthy = { state: "healthy", services: [], troubles: [] } as const;
const unhealthy = { ...healthy, state: "unhealthy" } as const;
const outdated = (lease: string, health: typeof healthy | typeof unhealthy = healthy) => ({
  ...{ lease, kept: ["web"], health },
});

/** A provider whose leases become healthy so long after they were refreshed; `never` for one that does not. */
function stage(names: readonly string[], readyAfterMs: number | "never") {
  const clock = createVirtualClock();
  const begun = new Map<string, number>();
  const shown: string[] = [];
  let most = 0;
  const isReady = (lease: string) =>
    readyAfterMs !== "never" && clock.now() >= (begun.get(lease) ?? Number.POSITIVE_INFINITY) + readyAfterMs;
  const deps = {
    async leases() {
      return names.map((lease) => {
        if (!begun.has(lease)) return outdated(lease);
        return isReady(lease) ? { lease, health: healthy } : { lease, health: healthy, rolling: ["web"] };
      });
    },
    async refresh(lease: string) {
      begun.set(lease, clock.now());
      most = Math.max(most, [...begun.keys()].filter((each) => !isReady(each)).length);
    },
    clock,
    show: (line: string) => void shown.push(line),
  };
  return { clock, begun, shown, deps, most: () => most };
}

test("leases are refreshed a few at a time, the next when one is ready", async () => {
  const names = ["a", "b", "c", "d", "e"];
  const { clock, begun, shown, deps, most } = stage(names, 30_000);
  const refreshed = refreshLeases(
    names.map((each) => outdated(each)),
    2,
    deps,
  );
  await Promise.all([refreshed, clock.advance(300_000)]);
  assert.deepEqual([...begun.keys()], names);
  assert.equal(most(), 2);
  assert.equal(shown.filter((line) => line.endsWith(": ready")).length, 5);
});

test("one of many that has ended meanwhile is left out", async () => {
  const names = ["a", "b", "c"];
  const { clock, begun, shown, deps } = stage(names, 0);
  const refresh = async (lease: string) => {
    if (lease === "a") throw new ProviderError("AKP_LEASE_OVER", { lease, state: "closed", closedOn: 9n });
    await deps.refresh(lease);
  };
  const refreshed = refreshLeases(
    names.map((each) => outdated(each)),
    1,
    { ...deps, refresh },
  );
  await Promise.all([refreshed, clock.advance(60_000)]);
  assert.deepEqual([...begun.keys()], ["b", "c"]);
  assert.ok(shown.includes("a: has ended"));
});

test("when a lease that was healthy does not come back, no other is begun", async () => {
  const names = ["a", "b", "c"];
  const { clock, begun, deps } = stage(names, "never");
  const refreshed = assert.rejects(
    refreshLeases(
      names.map((each) => outdated(each)),
      1,
      deps,
    ),
    /lease a is not ready 10 minutes after/,
  );
  await Promise.all([refreshed, clock.advance(900_000)]);
  assert.deepEqual([...begun.keys()], ["a"]);
});

test("a lease that was not healthy before is not waited for", async () => {
  const names = ["a", "b"];
  const { clock, begun, deps } = stage(names, "never");
  const refreshed = refreshLeases(
    names.map((each) => outdated(each, unhealthy)),
    1,
    deps,
  );
  await Promise.all([refreshed, clock.advance(1_000)]);
  assert.deepEqual([...begun.keys()], names);
});
