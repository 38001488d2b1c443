/** The simplest bus there could be, and random plans to hold against it. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Bus, Message } from "../src/bus/bus.ts";
import type { TopicPattern } from "../src/bus/topics.ts";
import type { BusPair } from "./bus.contract.ts";
import { eventually } from "./eventually.ts";

/** The topics of the random plans: plain ones and two of a family. */
const someTopics = [
  "inventory.nodes",
  "inventory.storage",
  "akash.provider.balance.wallet",
  "akash.provider.balance.escrow",
] as const;
const somePatterns: readonly TopicPattern[] = [...someTopics, "inventory.*", "akash.provider.balance.*", "*"];

export type Step =
  | { do: "publish"; by: number; topic: (typeof someTopics)[number]; retain: boolean }
  | { do: "subscribe"; by: number; pattern: TopicPattern }
  | { do: "close"; which: number };

const anyStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("publish"),
      by: fc.nat(1),
      topic: fc.constantFrom(...someTopics),
      retain: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("subscribe"),
      by: fc.nat(1),
      pattern: fc.constantFrom(...somePatterns),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close"), which: fc.nat(20) }) },
);

export const anySteps = fc.array(anyStep as fc.Arbitrary<Step>, { maxLength: 30 });

interface Subscriber {
  readonly pattern: TopicPattern;
  readonly seen: Message[];
  readonly expected: Map<string, [boolean, unknown][]>;
  close(): void;
}

/** The model: a subscriber has, per topic, the value retained when it came and then all until it leaves. */
export async function checkAgainstModel({ first, second }: BusPair, steps: readonly Step[]): Promise<void> {
  const buses = [first, second] as const;
  const retained = new Map<string, unknown>();
  const subscribers: Subscriber[] = [];
  const open: Subscriber[] = [];
  let n = 0;
  const arrived = () => subscribers.every(({ seen, expected }) => seen.length >= total(expected));

  for (const step of steps) {
    if (step.do === "publish") {
      n += 1;
      (buses[step.by] as Bus).publish(step.topic, { n }, { retain: step.retain });
      if (step.retain) retained.set(step.topic, { n });
      for (const subscriber of open) {
        if (covers(subscriber.pattern, step.topic)) note(subscriber.expected, step.topic, [false, { n }]);
      }
    } else if (step.do === "subscribe") {
      const seen: Message[] = [];
      const bus = buses[step.by] as Bus;
      const subscription = bus.subscribe(step.pattern, (message) => void seen.push(message as Message));
      const subscriber: Subscriber = {
        pattern: step.pattern,
        seen,
        expected: new Map(),
        close: () => subscription.close(),
      };
      for (const [topic, data] of retained) {
        if (covers(step.pattern, topic)) note(subscriber.expected, topic, [true, data]);
      }
      subscribers.push(subscriber);
      open.push(subscriber);
    } else if (open.length > 0) {
      await eventually("everything before a close", arrived);
      const [leaving] = open.splice(step.which % open.length, 1);
      leaving?.close();
    }
    await Promise.all(buses.map((bus) => bus.flush()));
  }
  await eventually("everything", arrived);
  for (const { seen, expected } of subscribers) {
    const got = new Map<string, [boolean, unknown][]>();
    for (const message of seen) note(got, message.topic, [message.retained, message.data]);
    assert.deepEqual(got, expected);
  }
}

function covers(pattern: string, topic: string): boolean {
  return pattern === topic || (pattern.endsWith("*") && topic.startsWith(pattern.slice(0, -1)));
}

function note(map: Map<string, [boolean, unknown][]>, topic: string, entry: [boolean, unknown]): void {
  map.set(topic, [...(map.get(topic) ?? []), entry]);
}

function total(map: Map<string, unknown[]>): number {
  return [...map.values()].reduce((sum, list) => sum + list.length, 0);
}
