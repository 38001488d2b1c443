import assert from "node:assert/strict";
import { test } from "node:test";
import { createForger } from "../../../test/auth-fuzz.ts";
import { createAuthStage } from "../../../test/auth-stage.ts";
import { long, runs } from "../../../test/runs.ts";
import { createSeededRandom } from "../../runtime/random.ts";

test("nobody is let in with a token, a header or a certificate in which anything was changed", async () => {
  const stage = createAuthStage();
  const forger = createForger(stage, createSeededRandom(7));
  const count = runs(2_000, 100_000);
  const tookMs: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const forged = forger.next();
    const startedMs = performance.now();
    const answer = await stage.ask(forged);
    tookMs.push(performance.now() - startedMs);
    const isLetIn = typeof answer !== "string" && answer.owner !== undefined;
    assert.equal(isLetIn, false, `number ${index}: ${JSON.stringify(forged)}`);
  }
  tookMs.sort((a, b) => a - b);
  const slowMs = tookMs[Math.floor(count * 0.999)] ?? 0;
  // Every change runs this beside many others, whose load is no fault of it.
  if (long) assert(slowMs < 50, `one in a thousand takes ${slowMs} ms`);
});
