import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startMarket, startProvider } from "../bench/leases-market.ts";
import { crowdSigners, firstOfCrowd, firstOfOther, talking } from "../bench/leases-people.ts";
import { holdSlowReaders } from "../bench/slow-readers.ts";
import { deploy, startStreamClients } from "../bench/stream-clients.ts";
import { temporaryFolder } from "./folder.ts";
import { cell } from "./lease-sdl.ts";
import { long } from "./runs.ts";

const [logs, shells] = [500, 200];

async function hold(t: TestContext): Promise<void> {
  const market = await startMarket(t);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, temporaryFolder(t), "gateway");
  t.after(provider.stop);
  const { port } = provider.start;
  const dseqs = crowdSigners.map((_, n) => firstOfCrowd + n);
  // One in sixteen has printed more than what lies between him and us can hold.
  const sdlOf = (dseq: number) => cell(dseq === firstOfCrowd ? talking.more : talking.some);
  for (const dseq of [firstOfOther, ...dseqs]) {
    await market.lease([dseq], sdlOf(dseq));
    await deploy(port, dseq, sdlOf(dseq));
  }
  const clients = startStreamClients(t);
  const reading = await holdSlowReaders(provider, clients, { dseqs, logs, shells, otherDseq: firstOfOther });
  t.diagnostic(JSON.stringify(reading));
  assert.deepEqual([reading.open, reading.failure], [logs + shells, undefined]);
  assert(reading.addedMb <= 200, `${reading.addedMb} MB more`);
  assert(reading.meanwhileMs <= 3 * reading.beforeMs + 10, `${reading.meanwhileMs} ms instead of ${reading.beforeMs}`);
}

// It starts three processes and holds the streams for two pings.
if (long) test("hundreds of slow readers of logs and shells cost little memory, and nobody else's time", hold);
