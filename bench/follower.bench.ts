/** Catches up with blocks of 5 events each, from a node in another process. */
import { cursorIn } from "../src/chain/chain-service.ts";
import { createFollower } from "../src/chain/comet/follower.ts";
import { createHttpTransports } from "../src/chain/comet/http-transport.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { openJournal } from "../src/journal/open.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import type { Report } from "./event-node.ts";
import { nextMessage, startChild } from "./processes.ts";
import { report, round, rssMb, size } from "./report.ts";

const blocks = size(10_000, 500);
const eventsPerBlock = 5;
/** Memory after the second half against that after the first: more growth than this is a leak. */
const mostGrowth = 1.1;
/** There is no baseline for the time, so its bar is absolute. */
const bars = { seconds: ["≤", 30], flat: ["=", true] } as const;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const node = startChild(owner, "event-node.ts", `${blocks}`, `${eventsPerBlock}`);
  const { rpcUrl: url } = await nextMessage<Report, "ready">(node, "ready");
  const parts = { clock: realClock, log: silentLog };
  const { journal } = await openJournal({ dir: temporaryFolder(owner), ...parts });
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
  const flat = endMb <= mostGrowth * halfMb;
  const rows = [{ blocks, events, seconds, "blocks/s": round(blocks / seconds), "MB half-way": halfMb, MB: endMb }];
  report("follower: blocks over RPC", rows, { bench: "follower", blocks, seconds, rssMb: endMb, flat }, bars);
}
