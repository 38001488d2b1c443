/** How many keys per second the queue carries when the work itself is nothing. */
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { done } from "../src/runtime/outcome.ts";
import { createQueue } from "../src/runtime/queue.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";
import { median, report, round, rssMb, size } from "./report.ts";

const keys = size(100_000, 2_000);
const rounds = size(7, 3);
/** There is no baseline, so the bar is absolute. */
const bars = { keysPerS: ["≥", 200_000] } as const;

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
  const rows = rates.map((rate, index) => ({ round: index + 1, "keys/s": Math.round(rate) }));
  report(`queue: ${keys} keys`, rows, { bench: "queue", keysPerS: round(median(rates), 0), rssMb: rssMb() }, bars);
}
