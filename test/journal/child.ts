/**
 * A process of its own for the tests: opens the journal in the given directory and either does the work of a seed,
 * killing itself at the chosen boundary (`work DIR SEED CRASH_AT`), or holds it until its input ends (`hold DIR`).
 */
import { writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { openJournal } from "../../src/journal/open.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { doWork, planWork } from "./workload.ts";

const [mode, dir = "", seed, crashAt] = process.argv.slice(2);
// Written at once: what is said before a SIGKILL has been said.
const say = (line: string) => writeSync(1, `${line}\n`);

const clock = createVirtualClock();
const boundary = createCountingBoundary(Number(crashAt ?? 0), () => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("a killed process does not get here");
});
try {
  const { journal } = await openJournal({ dir, clock, log: silentLog, boundary });
  if (mode === "work") await doWork(journal, clock, planWork(Number(seed)), (index) => say(`${index}`));
  else {
    say("open");
    await text(process.stdin);
  }
  await journal.close();
} catch (error) {
  const { code, message } = ProviderError.from(error);
  say(`${code} ${message}`);
  process.exitCode = 1;
}
