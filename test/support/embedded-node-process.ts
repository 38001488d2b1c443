/**
 * An embedded node with the fake application in a process of its own, so that a test can kill it. Says where it listens
 * and tells of each block, one line of JSON each. Arguments: the chain's file, and the time between blocks.
 */
import { createNode } from "../../src/box/chain/node/node.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createFakeApp } from "./fake-app.ts";

const [file = "", blockMs = "0"] = process.argv.slice(2);
const node = createNode({ app: createFakeApp(), clock: realClock, log: silentLog, file, blockMs: Number(blockMs) });
node.onBlock(({ header, id }) => {
  process.stdout.write(`${JSON.stringify({ height: `${header.height}`, hash: id.hash })}\n`);
});
await node.start();
process.stdout.write(`${JSON.stringify({ rpcUrl: node.rpcUrl, height: `${node.height}` })}\n`);
