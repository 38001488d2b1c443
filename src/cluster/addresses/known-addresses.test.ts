import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";
import { silentLog } from "../../runtime/log.ts";
import type { LeasedPort } from "./ip-operator.ts";
import { createKnownAddresses } from "./known-addresses.ts";

const port: LeasedPort = { service: "web", port: 80, externalPort: 80, protocol: "TCP", address: "203.0.113.7" };

function stage() {
  const clock = createVirtualClock();
  const stopping = new AbortController();
  const asked: { readonly order: string; answer(ports: readonly LeasedPort[]): void; fail(): void }[] = [];
  const operator = {
    usage: async () => ({ total: 1n, inUse: 0n }),
    portsOf(order: string) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly LeasedPort[]>();
      asked.push({ order, answer: resolve, fail: () => reject(new Error("it is away")) });
      return promise;
    },
  };
  const known = createKnownAddresses({ operator, signal: stopping.signal, clock, log: silentLog });
  return { clock, asked, known, stopping };
}

test("nobody waits for the IP operator: what it said last is told, and it is asked aside, once at a time", async () => {
  const { clock, asked, known } = stage();
  assert.deepEqual([known.of("a"), known.of("a")], [[], []]);
  await clock.advance(0);
  assert.equal(asked.length, 1);
  // However long that takes.
  await clock.advance(10 * limits.addressesPollMs);
  assert.deepEqual([known.of("a"), asked.length], [[], 1]);
  asked[0]?.answer([port]);
  await clock.advance(0);
  assert.deepEqual([known.of("a"), asked.length], [[port], 1]);
  await clock.advance(limits.addressesPollMs);
  assert.deepEqual(known.of("a"), [port]);
  await clock.advance(0);
  asked[1]?.fail();
  await clock.advance(limits.addressesPollMs);
  assert.deepEqual([known.of("a"), asked.length], [[port], 2], "what was known stays");
});

test("many leases do not flood the IP operator, and none is asked about after the end", async () => {
  const { clock, asked, known, stopping } = stage();
  for (let at = 0; at < 100; at++) known.of(`order ${at}`);
  await clock.advance(0);
  assert.equal(asked.length, limits.addressesLeasesAtOnce);
  stopping.abort();
  for (const { answer } of asked) answer([]);
  known.of("another");
  await clock.advance(0);
  assert.equal(asked.length, limits.addressesLeasesAtOnce);
});
