/** For suites that end processes by SIGKILL, as a power cut would: one for each kind of boundary. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import type { TestContext } from "node:test";
import { inParallel } from "../../src/runtime/in-parallel.ts";
import { type KillPoint, kindsOf, opensJournal } from "./boundary-kinds.ts";
import { soaking } from "./runs.ts";

/** One of each kind, in the middle of the story; `npm run soak` takes all. */
export function killPoints(crossings: readonly string[]): KillPoint[] {
  const kinds = crossings.flatMap((crossing) => (opensJournal(crossing) ? [] : kindsOf(crossing)));
  const times = Map.groupBy(kinds, (kind) => kind);
  return [...times].flatMap(([kind, all]) => {
    const each = all.map((_, index) => ({ kind, nth: index + 1 }));
    return soaking ? each : each.filter(({ nth }) => nth === Math.ceil(all.length / 2));
  });
}

/** Two for each processor: they mostly wait for blocks. */
const atOnce = 2 * availableParallelism();

/** Plays with each of the points; `isKilled` says whether its process came so far. */
export async function killAtEach(
  t: TestContext,
  points: readonly KillPoint[],
  isKilled: (at: KillPoint) => Promise<boolean>,
): Promise<void> {
  await inParallel(points, atOnce, async ({ kind, nth }) => {
    const play = (at: KillPoint) =>
      isKilled(at).catch((thrown: unknown) => {
        throw new Error(`killed at ${at.kind}, crossed ${at.nth} times`, { cause: thrown });
      });
    // How often a boundary is crossed depends on what is written together.
    assert.ok((await play({ kind, nth })) || (await play({ kind, nth: 1 })), `no process came to ${kind}`);
  });
  t.diagnostic(`${points.length} processes killed`);
}
