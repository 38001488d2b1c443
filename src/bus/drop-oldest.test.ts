import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../test/runs.ts";
import { createDropOldest } from "./drop-oldest.ts";

test("whatever is pushed, shifted and put back, the line is the newest that fit and the rest was dropped in order", () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("push" as const), bytes: fc.nat(40) }) },
      { weight: 2, arbitrary: fc.constant({ do: "shift" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "putBack" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "clear" as const }) },
    ),
    { maxLength: 100 },
  );
  const property = fc.property(steps, fc.integer({ min: 1, max: 8 }), (plan, items) => {
    const most = { items, bytes: 100 };
    const dropped: number[] = [];
    const line = createDropOldest<{ id: number; bytes: number }>(most, ({ id }) => dropped.push(id));
    let model: { id: number; bytes: number }[] = [];
    const modelDropped: number[] = [];
    let shifted: { id: number; bytes: number }[] = [];
    const fit = () => {
      const weight = () => model.reduce((sum, { bytes }) => sum + bytes, 0);
      while (model.length > 1 && (model.length > items || weight() > most.bytes)) modelDropped.push(model.shift()!.id);
    };
    for (const [id, step] of plan.entries()) {
      if (step.do === "push") {
        line.push({ id, bytes: step.bytes });
        model.push({ id, bytes: step.bytes });
        fit();
      } else if (step.do === "shift") {
        const got = line.shift();
        assert.deepEqual(got, model.shift());
        if (got) shifted.push(got);
      } else if (step.do === "putBack") {
        line.putBack(shifted);
        model = [...shifted, ...model];
        shifted = [];
        fit();
      } else {
        line.clear();
        model = [];
      }
      assert.equal(line.size, model.length);
      assert.deepEqual(line.peek(), model[0]);
      assert.deepEqual(dropped, modelDropped);
    }
  });
  fc.assert(property, { numRuns: runs(300, 20_000) });
});
