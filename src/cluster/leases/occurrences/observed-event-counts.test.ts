import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/runs.ts";
import type { OccurrenceRow } from "../../../journal/occurrences.ts";
import { counted, type ObservedEvent, occurrenceEvents } from "./observed-event.ts";

const nowMs = 1_000_000;

function seen(event: string, count: number, lastMs: number, firstMs = lastMs): ObservedEvent {
  const what = { type: "Warning", reason: "BackOff", object: `Pod of ${event}`, note: `the ${count}th` } as const;
  return {
    reportingController: "kubelet",
    reportingInstance: `node of ${event}`,
    leaseId: "lease",
    key: "key",
    event,
    ...what,
    count,
    firstMs,
    lastMs,
  };
}

function fold(observed: readonly ObservedEvent[]): OccurrenceRow | undefined {
  let row: OccurrenceRow | undefined;
  for (const each of observed) row = counted(row, each, nowMs) ?? row;
  return row;
}

test("an Event that is seen again is counted once, and one that counts on is counted on", () => {
  const once = fold([seen("a", 3, 30, 10)]);
  assert.equal(once?.count, 3);
  assert.equal(counted(once, seen("a", 3, 30, 10), nowMs), undefined);
  const more = fold([seen("a", 3, 30, 10), seen("a", 3, 30, 10), seen("a", 5, 50, 10)]);
  assert.deepEqual([more?.count, more?.firstAtMs, more?.lastAtMs, more?.note], [5, 10, 50, "the 5th"]);
});

test("Events of several pods share a row, which shows the newest", () => {
  const row = fold([seen("b", 2, 60), seen("a", 4, 50, 10)]);
  assert.deepEqual([row?.count, row?.object, row?.firstAtMs, row?.lastAtMs], [6, "Pod of b", 10, 60]);
});

test("a cluster that was restored from an hour ago takes nothing back and adds nothing", () => {
  const row = fold([seen("a", 9, 90, 10)]);
  assert.equal(counted(row, seen("a", 4, 40, 10), nowMs), undefined);
  assert.equal(fold([seen("a", 9, 90, 10), seen("a", 4, 40, 10), seen("a", 10, 99, 10)])?.count, 10);
});

test("a node whose clock is ahead has not the last word for good", () => {
  const row = fold([seen("a", 1, nowMs + 500), seen("b", 1, nowMs)]);
  assert.deepEqual([row?.lastAtMs, row?.object, row?.count], [nowMs, "Pod of b", 2]);
});

/** How each Event went on: its counts and times only grow. */
const event = fc.array(fc.record({ more: fc.integer({ min: 1, max: 9 }), laterMs: fc.integer({ max: 5, min: 0 }) }), {
  minLength: 1,
  maxLength: 4,
});

test("whatever comes again, in whatever order of Events, nothing is counted twice, and all while there are few", () => {
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 1, maxLength: 2 * occurrenceEvents }),
      fc.array(fc.nat(), { minLength: 400, maxLength: 400 }),
      (events, order) => {
        const states = events.map((steps, at) => {
          let [count, lastMs] = [0, at];
          return steps.map(({ more, laterMs }) => {
            count += more;
            lastMs += laterMs;
            return seen(`${at}`.padStart(8, "0"), count, lastMs, at);
          });
        });
        // Each shows its states in their order, every one of them perhaps several times.
        const shown = states.map(() => 0);
        const observed = order.flatMap((pick) => {
          const at = pick % states.length;
          const step = Math.min(shown[at] ?? 0, (states[at]?.length ?? 1) - 1);
          shown[at] = step + (pick % 3 === 0 ? 0 : 1);
          return states[at]?.[step] ?? [];
        });
        const last = states.flatMap((steps) => steps.at(-1) ?? []);
        const truth = last.reduce((sum, { count }) => sum + count, 0);
        const row = fold([...observed, ...last, ...last]);
        assert.ok((row?.count ?? 0) <= truth, `${row?.count} of ${truth}`);
        if (events.length <= occurrenceEvents) assert.equal(row?.count, truth);
        assert.ok((row?.counted.length ?? 0) < 60 * occurrenceEvents);
      },
    ),
    { numRuns: runs(50, 1_000) },
  );
});
