import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../test/support/virtual-clock.ts";
import { createMemoryBus } from "../bus/memory.ts";
import type { Chain, StepListener } from "../chain/chain.ts";
import { silentLog } from "../runtime/log.ts";
import { announce } from "./provider.ts";

const order = "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/7/1/1";
const lease = `${order}/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6`;

test("what changed is told by its key, with what the mirror says of it, event or not", async () => {
  const clock = createVirtualClock();
  const bus = createMemoryBus({ clock, log: silentLog });
  const told: unknown[] = [];
  bus.subscribe("akash.provider.event.*", ({ data }) => void told.push(data));
  let step: StepListener = () => undefined;
  let isOpen = true;
  const mirror = {
    order: () => (isOpen ? {} : undefined),
    lease: () => ({ state: isOpen ? "active" : "insufficient_funds" }),
  } as unknown as Chain["mirror"];
  const onStep = (listener: StepListener) => {
    step = listener;
  };
  announce({ mirror, onStep }, bus);
  const changed = [
    { kind: "order", key: order },
    { kind: "lease", key: lease },
    { kind: "bid", key: lease },
  ] as const;
  await step({ changed });
  isOpen = false;
  await step({ changed });
  await clock.settle();
  assert.deepEqual(told, [
    { kind: "OrderCreated", order },
    { kind: "LeaseCreated", lease },
    { kind: "OrderClosed", order },
    { kind: "LeaseClosed", lease },
  ]);
});
