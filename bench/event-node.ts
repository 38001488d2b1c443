/** A node in a process of its own with so many blocks of so many events; says where it listens. */
import { createNode } from "../src/box/chain/node/node.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createEventApp } from "../test/event-app.ts";

const [blocks = "0", perBlock = "0"] = process.argv.slice(2);
const app = createEventApp({ perBlock: Number(perBlock) });
const node = createNode({ app, clock: realClock, log: silentLog });
await node.start();
for (let made = 0; made < Number(blocks); made += 1) node.step();
process.stdout.write(`${node.rpcUrl}\n`);
