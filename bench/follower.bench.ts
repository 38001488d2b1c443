/** Catches up with 10,000 blocks of 5 events each, from a node in another process. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cursorIn } from "../src/chain/chain-service.ts";
import { createFollower } from "../src/chain/comet/follower.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { openJournal } from "../src/journal/open.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { nodeFlags } from "./node-flags.ts";
import { report, round, rssMb } from "./report.ts";

const blocks = 10_000;
const eventsPerBlock = 5;
/** Memory after the second half against that after the first: more growth than this is a leak. */
const mostGrowth = 1.1;

export async function bench(): Promise<void> {
  const script = join(import.meta.dirname, "event-node.ts");
  const node = spawn(process.execPath, [script, `${blocks}`, `${eventsPerBlock}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [url] = (await once(createInterface(node.stdout), "line")) as [string];
    const follower = spawn(process.execPath, [...nodeFlags, import.meta.filename, url], { stdio: "inherit" });
    const [code] = await once(follower, "exit");
    if (code !== 0) throw new Error(`the follower ended with ${code}`);
  } finally {
    const exited = once(node, "exit");
    node.kill();
    await exited;
  }
}

async function follow(url: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "akash-provider-bench-"));
  const parts = { clock: realClock, log: silentLog };
  const { journal } = await openJournal({ dir, ...parts });
  const pool = createPool({ nodes: createHttpTransports([{ url }], realClock), random: realRandom, ...parts });
  await pool.open();
  const stopping = new AbortController();
  let events = 0;
  let halfMb = 0;
  const follower = createFollower({
    pool,
    cursor: cursorIn(journal),
    ...parts,
    consumer: {
      async block(block) {
        events += block.events.length;
        if (block.height === BigInt(blocks / 2)) halfMb = rssMb();
        if (block.height === BigInt(blocks)) stopping.abort();
        return undefined;
      },
      async gap(gap) {
        throw new Error(`blocks ${gap.from} to ${gap.to} are missing`);
      },
    },
  });
  const startMs = performance.now();
  await follower.run(0n, stopping.signal);
  const seconds = round((performance.now() - startMs) / 1_000);
  const endMb = rssMb();
  if (events !== blocks * eventsPerBlock) throw new Error(`${events} events were seen`);
  pool.close();
  await journal.close();
  rmSync(dir, { recursive: true, force: true });
  const flat = endMb <= mostGrowth * halfMb;
  const rows = [{ blocks, events, seconds, "blocks/s": round(blocks / seconds), "MB half-way": halfMb, MB: endMb }];
  report("Catching up with blocks over RPC", rows, { bench: "follower", blocks, seconds, rssMb: endMb, flat });
}

if (import.meta.main) await follow(process.argv[2] ?? "");
