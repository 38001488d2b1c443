/** A node in a process of its own with a given number of blocks and events in each; reports its URL to its parent. */
import { createNode } from "../src/box/chain/node/node.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createEventApp } from "../test/support/event-app.ts";
import { serveParent } from "./processes.ts";

export interface Report {
  readonly what: "ready";
  readonly rpcUrl: string;
}

const [blocks = "0", perBlock = "0"] = process.argv.slice(2);
const app = createEventApp({ perBlock: Number(perBlock) });
const node = createNode({ app, clock: realClock, log: silentLog });
await node.start();
for (let made = 0; made < Number(blocks); made += 1) node.step();
serveParent<never, Report>()({ what: "ready", rpcUrl: node.rpcUrl });
