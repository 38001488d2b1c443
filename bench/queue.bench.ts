/** How many keys per second the queue carries when the work itself is nothing. */
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { done } from "../src/runtime/outcome.ts";
import { createQueue } from "../src/runtime/queue.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { report, round, rssMb } from "./report.ts";

const keys = 100_000;
const rounds = 7;
const leastKeysPerS = 200_000;

async function once(names: string[]): Promise<number> {
  const abort = new AbortController();
  let left = names.length;
  const queue = createQueue({
    name: "bench",
    clock: realClock,
    random: createSeededRandom(1),
    log: silentLog,
    work: async () => {
      left -= 1;
      if (left === 0) abort.abort();
      return done();
    },
  });
  const began = performance.now();
  const ended = queue.run(abort.signal);
  for (const name of names) queue.add(name);
  await ended;
  return names.length / ((performance.now() - began) / 1_000);
}

export async function bench(): Promise<void> {
  const names = Array.from({ length: keys }, (_, index) => `akash1tenant/${index}/1/1`);
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await once(names));
  const sorted = rates.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(rounds / 2)] ?? 0;
  const rows = rates.map((rate, index) => ({ round: index + 1, "keys/s": Math.round(rate) }));
  report(`queue: ${keys} keys, at least ${leastKeysPerS} a second`, rows, {
    bench: "queue",
    keysPerS: round(median, 0),
    rssMb: rssMb(),
  });
}
