import assert from "node:assert/strict";
import { test } from "node:test";
import { createForger } from "../../../test/support/auth-fuzz.ts";
import { runs } from "../../../test/support/runs.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { createAuthStage } from "../../../test/support/stages/auth-stage.ts";

test("mutated token, header or certificate → rejected", async () => {
  const stage = createAuthStage();
  const forger = createForger(stage, createSeededRandom(7));
  const count = runs(2_000, 100_000);
  for (let index = 0; index < count; index += 1) {
    const forged = forger.next();
    const answer = await stage.ask(forged);
    const isLetIn = typeof answer !== "string" && answer.owner !== undefined;
    assert.equal(isLetIn, false, `number ${index}: ${JSON.stringify(forged)}`);
  }
});
