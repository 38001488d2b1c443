/**
 * What work costs compared with other work of the same run: neither the speed of the machine nor what else runs there counts.
 * Of CPU time, the least of several tries: compiling and collecting garbage fall into some of them only.
 */
import assert from "node:assert/strict";

type Work = () => unknown;

/** A try does its work again until it has taken this long, as clocks of CPU time go in steps. */
const leastMicros = 2_000;
const tries = { least: 5, most: 10 };
/** Work of eight times the size costs eight times as much where it grows with the size, 64 times where it grows with the square. */
const growth = { size: 8, cost: 24 };

/** Fails if the work costs more than `times` what the other does. */
export async function assertCost(work: Work, { times, of }: { times: number; of: Work }): Promise<void> {
  let [mine, other] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tried = 0; tried < tries.most && (tried < tries.least || mine > times * other); tried += 1) {
    other = Math.min(other, await costMicros(of));
    mine = Math.min(mine, await costMicros(work));
  }
  assert.ok(mine <= times * other, `${mine.toFixed(0)} µs are more than ${times} times ${other.toFixed(0)} µs`);
}

/** Fails if the cost of work grows faster than its size. */
export function assertLinear(workOf: (size: number) => Work, mostSize: number): Promise<void> {
  return assertCost(workOf(mostSize), { times: growth.cost, of: workOf(Math.ceil(mostSize / growth.size)) });
}

async function costMicros(work: Work): Promise<number> {
  const before = process.cpuUsage();
  for (let times = 1; ; times += 1) {
    await work();
    const { user, system } = process.cpuUsage(before);
    if (user + system >= leastMicros) return (user + system) / times;
  }
}
