import assert from "node:assert/strict";
import { test } from "node:test";
import { aGroup, tenant } from "../../../test/support/samples/decision-samples.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { parseAddress } from "../../market/address.ts";
import { realClock } from "../../runtime/clock.ts";
import {
  createRateLimiter,
  createScreener,
  type OfferedScreen,
  ScreeningBusy,
  screeningMaxWaitMs,
  screeningRetryMs,
  screeningsAtOnce,
  screeningsWaiting,
} from "./screener.ts";

const owner = parseAddress(tenant);
const { signal } = new AbortController();
const decision: OfferedScreen = { verdict: "no", checks: [], price: undefined, offer: undefined };

test("pending orders → screening waits, then ScreeningBusy", async () => {
  const clock = createVirtualClock();
  let ordersWait = true;
  const screen = createScreener({ screenBetweenOrders: async () => (ordersWait ? undefined : decision) }, clock);
  const first = screen(owner, aGroup(), signal);
  await clock.advance(screeningMaxWaitMs / 2);
  ordersWait = false;
  await clock.advance(screeningRetryMs);
  assert.equal(await first, decision);
  ordersWait = true;
  const second = assert.rejects(screen(owner, aGroup(), signal), ScreeningBusy);
  await clock.advance(screeningMaxWaitMs + screeningRetryMs);
  await second;
});

test("screenings at once and waiting are limited, others get ScreeningBusy", async () => {
  const clock = createVirtualClock();
  let [running, most] = [0, 0];
  const ended = Promise.withResolvers<OfferedScreen>();
  const screen = createScreener(
    {
      async screenBetweenOrders() {
        running += 1;
        most = Math.max(most, running);
        await ended.promise;
        running -= 1;
        return decision;
      },
    },
    clock,
  );
  const accounts = screeningsAtOnce + screeningsWaiting;
  const all = Array.from({ length: accounts }, (_, n) => screen(`akash1${n}` as typeof owner, aGroup(), signal));
  await clock.advance(1);
  await assert.rejects(screen(owner, aGroup(), signal), ScreeningBusy);
  ended.resolve(decision);
  assert.equal((await Promise.all(all)).length, accounts);
  assert.equal(most, screeningsAtOnce);
});

test("event loop runs between concurrent screenings", async () => {
  const accounts = screeningsWaiting;
  let decided = 0;
  const screen = createScreener(
    {
      async screenBetweenOrders() {
        decided += 1;
        return decision;
      },
    },
    createVirtualClock(),
  );
  const all = Array.from({ length: accounts }, (_, n) => screen(`akash1${n}` as typeof owner, aGroup(), signal));
  for (let [turn, before] = [0, 0]; decided < accounts; turn++, before = decided) {
    assert.ok(turn < 10 * accounts, "not all are decided");
    await realClock.yield();
    assert.ok(decided - before <= screeningsAtOnce, `${decided - before} in one turn of the event loop`);
  }
  await Promise.all(all);
});

test("account above its rate → seconds to wait, other accounts are not affected", async () => {
  const clock = createVirtualClock();
  const take = createRateLimiter({ atOnce: 3, perMinute: 6, remembered: 10 }, clock);
  assert.deepEqual([take("a"), take("a"), take("a"), take("a")], [undefined, undefined, undefined, 10]);
  assert.equal(take("b"), undefined);
  await clock.advance(4_000);
  assert.equal(take("a"), 6);
  await clock.advance(6_000);
  assert.deepEqual([take("a"), take("a")], [undefined, 10]);
});

test("rate limiter forgets the least recently used key", () => {
  const take = createRateLimiter({ atOnce: 1, perMinute: 1, remembered: 2 }, createVirtualClock());
  for (const key of ["a", "b"]) assert.equal(take(key), undefined);
  assert.equal(take("a"), 60);
  assert.equal(take("c"), undefined);
  assert.equal(take("a"), 60);
  assert.equal(take("b"), undefined);
});
