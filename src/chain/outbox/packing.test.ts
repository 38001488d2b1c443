import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../test/support/runs.ts";
import type { Intent } from "../../journal/intents.ts";
import { largestGroup, type PackingRules, pack } from "./packing.ts";

/** What an intent is to the packing; the rest does not matter. */
interface Case {
  readonly priority: number;
  readonly subject: string;
  readonly failures: number;
  readonly gas: bigint;
  readonly alone: boolean;
  readonly costly?: boolean;
  readonly hurried?: boolean;
  readonly account?: string;
  readonly withdraws?: boolean;
}

const cases = fc.array(
  fc.record({
    priority: fc.constantFrom(0, 10, 30),
    subject: fc.integer({ min: 0, max: 30 }).map((number) => `order ${number}`),
    failures: fc.constantFrom(0, 0, 0, 1, 3, 6),
    gas: fc.bigInt(0n, 40n),
    alone: fc.constantFrom(false, false, false, true),
  }),
  { maxLength: 60 },
);

const bounds = fc.record({
  mostMessages: fc.integer({ min: 1, max: 10 }),
  mostGas: fc.bigInt(50n, 200n),
  room: fc.integer({ min: 0, max: 12 }),
  busy: fc.array(fc.constantFrom("order 1", "order 2", "order 3")).map((subjects) => new Set(subjects)),
});

function setUp(
  list: readonly Case[],
  { busy, ...numbers }: Pick<PackingRules, "mostMessages" | "mostGas" | "room" | "busy"> & Partial<PackingRules>,
) {
  const waiting = list.map((each, index) => intent(index + 1, each));
  const of = ({ id }: Intent) => list[id - 1] as Case;
  const rules: PackingRules = {
    costlyRoom: 1_000,
    settling: new Set(),
    ...numbers,
    busy,
    gasOf: (each) => of(each).gas,
    alone: (each) => of(each).alone,
    costly: (each) => of(each).costly ?? false,
    hurried: (each) => of(each).hurried ?? false,
    accountOf: (each) => of(each).account,
    withdraws: (each) => of(each).withdraws ?? false,
  };
  const byUrgency = waiting.toSorted((a, b) => a.priority - b.priority || a.id - b.id);
  return { waiting, of, rules, groups: pack(byUrgency, rules) };
}

function intent(id: number, { priority, subject, failures }: Partial<Case>): Intent {
  return {
    id,
    what: "createBid",
    subject: subject ?? `order ${id}`,
    why: "test",
    body: {},
    priority: priority ?? 10,
    state: "filed",
    filedAtMs: 0,
    ...(failures && { failures }),
  };
}

test("no group breaks a rule, whatever waits", () => {
  fc.assert(
    fc.property(cases, bounds, (list, limits) => {
      const { groups, of, rules } = setUp(list, limits);
      assert.ok(groups.length <= rules.room);
      const packed = groups.flat();
      assert.equal(new Set(packed.map(({ id }) => id)).size, packed.length, "nothing travels twice");
      assert.equal(new Set(packed.map(({ subject }) => subject)).size, packed.length, "one subject, one message");
      for (const { subject } of packed) assert.ok(!rules.busy.has(subject), `${subject} is under way already`);
      for (const group of groups) {
        assert.ok(group.length > 0);
        assert.deepEqual(
          group,
          group.toSorted((a, b) => a.id - b.id),
          "messages lie by age",
        );
        if (group.length === 1) continue;
        assert.ok(group.reduce((sum, each) => sum + of(each).gas, 0n) <= rules.mostGas);
        for (const each of group) {
          assert.ok(!of(each).alone);
          assert.ok(group.length <= largestGroup(each, rules.mostMessages));
        }
      }
    }),
    { numRuns: runs(500, 20_000) },
  );
});

test("of one subject the oldest is up, and nothing is left behind while there is room", () => {
  fc.assert(
    fc.property(cases, bounds, (list, limits) => {
      const { groups, waiting, rules } = setUp(list, { ...limits, room: 1_000 });
      const packed = new Set(groups.flat());
      const seen = new Set<string>();
      for (const each of waiting) {
        const first = !seen.has(each.subject);
        seen.add(each.subject);
        assert.equal(packed.has(each), first && !rules.busy.has(each.subject), `intent ${each.id}`);
      }
    }),
    { numRuns: runs(300, 10_000) },
  );
});

test("with little room, whatever is left out is not more urgent than all that travels", () => {
  fc.assert(
    fc.property(cases, fc.integer({ min: 1, max: 3 }), (list, room) => {
      const plain = list.map((each, index) => ({
        ...each,
        failures: 0,
        alone: false,
        gas: 0n,
        subject: `order ${index}`,
      }));
      const { groups, waiting } = setUp(plain, { mostMessages: 5, mostGas: 1n, room, busy: new Set() });
      const packed = new Set(groups.flat());
      const left = waiting.filter((each) => !packed.has(each)).map(({ priority }) => priority);
      const taken = [...packed].map(({ priority }) => priority);
      if (left.length > 0) assert.ok(Math.max(...taken) <= Math.min(...left));
    }),
    { numRuns: runs(300, 10_000) },
  );
});

test("a withdrawal in front of a close of the same lease is as urgent as the close", () => {
  const list = [
    { priority: 10, subject: "order 1" },
    { priority: 30, subject: "lease 1" },
    { priority: 0, subject: "lease 1" },
  ].map((each) => ({ failures: 0, gas: 0n, alone: false, ...each }));
  const { groups } = setUp(list, { mostMessages: 1, mostGas: 1n, room: 1, busy: new Set() });
  assert.deepEqual(
    groups.map((group) => group.map(({ id }) => id)),
    [[2]],
  );
});

const plain = { priority: 10, failures: 0, gas: 0n, alone: false };
const roomy = { mostMessages: 10, mostGas: 100n, room: 10, busy: new Set<string>() };
const idsOf = (groups: readonly (readonly Intent[])[]) => groups.map((group) => group.map(({ id }) => id));

test("no more transactions hold costly messages than may, and what costs nothing travels all the same", () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 30 }),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      (costs, costlyRoom, mostMessages) => {
        const list = costs.map((costly, index) => ({ ...plain, subject: `order ${index}`, costly }));
        const { groups, of } = setUp(list, { ...roomy, room: 100, mostMessages, costlyRoom });
        const isCostly = (each: Intent) => of(each).costly === true;
        const costly = groups.filter((group) => group.some(isCostly));
        assert.ok(costly.length <= costlyRoom);
        assert.equal(groups.flat().filter((each) => !isCostly(each)).length, costs.filter((each) => !each).length);
        if (costlyRoom > 0 && costs.includes(true)) assert.ok(costly.length > 0);
      },
    ),
    { numRuns: runs(300, 10_000) },
  );
});

test("an intent that must be in a block soon shares no transaction with one that need not", () => {
  const list = [true, false, true].map((hurried, index) => ({ ...plain, subject: `order ${index}`, hurried }));
  assert.deepEqual(idsOf(setUp(list, roomy).groups), [[1, 3], [2]]);
});

test("of one account there is one withdrawal at a time, and none beside what else settles it", () => {
  const about = (subject: string, account: string, withdraws: boolean) => ({ ...plain, subject, account, withdraws });
  const two = [about("lease 1", "a", true), about("lease 2", "a", true), about("lease 3", "b", true)];
  assert.deepEqual(idsOf(setUp(two, roomy).groups), [[1, 3]]);
  assert.deepEqual(idsOf(setUp(two, { ...roomy, settling: new Set(["a"]) }).groups), [[3]]);
  const closes = [about("lease 1", "a", false), about("lease 2", "a", false), about("lease 3", "a", true)];
  assert.deepEqual(idsOf(setUp(closes, roomy).groups), [[1, 2]]);
  assert.deepEqual(
    idsOf(setUp(closes, { ...roomy, settling: new Set(["a"]) }).groups),
    [[1, 2]],
    "a close never waits",
  );
});

test("each failure without a name halves the company, down to one", () => {
  const sizes = [0, 1, 2, 3, 4, 5, 6, 7].map((failures) => largestGroup({ failures }, 50));
  assert.deepEqual(sizes, [50, 25, 12, 6, 3, 1, 1, 1]);
});
