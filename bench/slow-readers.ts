/** Many streams at once of which their readers take little, and what that costs: memory of the provider, and another tenant's time. */
import { realClock, sleep } from "../src/runtime/clock.ts";
import { connectGateway, requestOn } from "../test/support/gateway-client.ts";
import type { BenchedProvider } from "./leases-market.ts";
import { median, round } from "./report.ts";
import { type StreamClients, tokenOf } from "./stream-clients.ts";
import type { StreamTarget } from "./stream-load.ts";

interface SlowReaders {
  /** Deployments whose logs are read and in which shells are open, each by its own tenant, in turn. */
  readonly dseqs: readonly number[];
  readonly logs: number;
  readonly shells: number;
  /** Another tenant's lease, whose status is requested meanwhile. */
  readonly otherDseq: number;
}

export interface SlowReading {
  /** How many are open in the end. */
  readonly open: number;
  readonly failure: string | undefined;
  readonly addedMb: number;
  /** Latency of the other tenant's requests, before and meanwhile. */
  readonly beforeMs: number;
  readonly meanwhileMs: number;
}

const bytesPerS = 4_000;
/** Two pings long. */
const heldMs = 21_000;
const requests = 100;
const [looks, lookPauseMs] = [4, 3_000];

export async function holdSlowReaders(
  provider: Pick<BenchedProvider, "start" | "memory">,
  clients: StreamClients,
  { dseqs, logs, shells, otherDseq }: SlowReaders,
): Promise<SlowReading> {
  const { port } = provider.start;
  const tokens = new Map(dseqs.map((dseq) => [dseq, tokenOf(dseq)]));
  const targets = (count: number, query: string): StreamTarget[] =>
    Array.from({ length: count }, (_, n) => {
      const dseq = dseqs[n % dseqs.length] as number;
      return { port, path: `/lease/${dseq}/1/1/${query}`, authorization: tokens.get(dseq) as string };
    });
  await otherWaits(port, otherDseq);
  const beforeMs = await otherWaits(port, otherDseq);
  const idleMb = await provider.memory();
  const all = [
    ...targets(logs, "logs?follow=true"),
    ...targets(shells, "shell?service=cell&podIndex=0&tty=0&stdin=1&cmd0=yes"),
  ];
  const { failure } = await clients.slow(all, bytesPerS);
  await sleep(realClock, heldMs);
  const meanwhileMs = await quietestMs(port, otherDseq);
  // What the first look has freed, the second one finds gone.
  await provider.memory();
  await sleep(realClock, 1_000);
  const addedMb = round((await provider.memory()) - idleMb, 1);
  const { open } = await clients.slow([], bytesPerS);
  return { open, failure, addedMb, beforeMs, meanwhileMs };
}

/** What these streams slow down they always do; the machine may be busy with something else for a while. */
async function quietestMs(port: number, dseq: number): Promise<number> {
  let leastMs = await otherWaits(port, dseq);
  for (let look = 1; look < looks; look += 1) {
    await sleep(realClock, lookPauseMs);
    leastMs = Math.min(leastMs, await otherWaits(port, dseq));
  }
  return leastMs;
}

/** In the middle, for an answer about a lease. */
async function otherWaits(port: number, dseq: number): Promise<number> {
  const socket = await connectGateway({ port });
  const request = { path: `/lease/${dseq}/1/1/status`, authorization: tokenOf(dseq) };
  const took: number[] = [];
  for (let left = requests; left > 0; left -= 1) {
    const sentMs = performance.now();
    const { status } = await requestOn(socket, request);
    if (status !== 200) throw new Error(`the other tenant was answered ${status}`);
    took.push(performance.now() - sentMs);
  }
  socket.destroy();
  return round(median(took));
}
