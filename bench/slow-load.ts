/**
 * The cost of hundreds of slow readers of logs and shells at once, each with more to read than the buffers in between hold.
 * `node bench/slow-load.ts LOGS SHELLS`; prints one JSON line. It starts three more processes.
 */
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner } from "../test/support/owner.ts";
import { cell } from "../test/support/samples/lease-sdl.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { crowdSigners, firstOfCrowd, firstOfOther, talkative } from "./leases-people.ts";
import { holdSlowReaders } from "./slow-readers.ts";
import { deploy, startStreamClients } from "./stream-clients.ts";

const [logs = 0, shells = 0] = process.argv.slice(2).map(Number);
await using owner = createOwner();
const market = await startMarket(owner);
const provider = await startProvider(market.rpcUrl, market.kubeconfig, temporaryFolder(owner), "gateway");
owner.after(provider.stop);
const dseqs = crowdSigners.map((_, n) => firstOfCrowd + n);
await Promise.all(
  [firstOfOther, ...dseqs].map(async (dseq) => {
    await market.lease([dseq], cell(talkative));
    await deploy(provider.start.port, dseq, cell(talkative));
  }),
);
const clients = startStreamClients(owner);
console.log(JSON.stringify(await holdSlowReaders(provider, clients, { dseqs, logs, shells, otherDseq: firstOfOther })));
