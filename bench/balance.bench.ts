/**
 * Our money on many leases: a node in another process makes a block a second, and a provider with nothing but chain, journal
 * and balance checker looks after many escrows. At its start all are due at once: of the first look a quarter are worth a
 * withdrawal; that of the next start, when nothing is, is the pass that is measured.
 */
import assert from "node:assert/strict";
import type { SettledResult } from "../src/chain/chain.ts";
import { createNodeTransport } from "../src/chain/comet/http-transport.ts";
import type { RpcTransport } from "../src/chain/comet/transport.ts";
import type { Intent } from "../src/journal/intents.ts";
import type { Journal } from "../src/journal/journal.ts";
import { bidOn, formatLeaseId } from "../src/market/ids.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { eventually } from "../test/support/eventually.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { orderOf, us } from "../test/support/money-chain.ts";
import { startLife } from "../test/support/money-life.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import type { Report } from "./balance-node.ts";
import { nextMessage, startChild } from "./processes.ts";
import { cpuMs, report, round, rssMb, size } from "./report.ts";

const [leases, wellPaid, shared] = size([2_000, 500, 200], [100, 25, 10]);
const idleMs = size(10_000, 1_000);
/** There is no baseline: blocks come by the clock, so the bars are absolute. */
const bars = { cpuS: ["≤", 1], blocks: ["≤", 5] } as const;
/** Longer than all of this takes. */
const intervalMs = 600_000;
const settleWithinMs = 120_000;
const keys = Array.from({ length: leases }, (_, index) => formatLeaseId(bidOn(orderOf(BigInt(index + 1)), us)));
const some = keys.filter((_, index) => index % 97 === 0 || index === leases - 1);

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const beganMs = performance.now();
  const rpcUrl = await startNode(owner);
  const counted = countRequests(rpcUrl);
  const setUpS = round((performance.now() - beganMs) / 1_000);
  const dir = temporaryFolder(owner);
  const start = () => {
    const options = { intervalMs, periodMs: 0 };
    const life = startLife({ clock: realClock, transport: counted.transport, dir, options, tokenPrice: "1" });
    owner.after(() => life.stop());
    return life;
  };
  const measured = async (name: string, work: () => Promise<unknown>) => {
    const [startedMs, before, startedCpuMs] = [performance.now(), counted.count, cpuMs()];
    await work();
    const seconds = round((performance.now() - startedMs) / 1_000);
    return {
      name,
      cpuS: round((cpuMs() - startedCpuMs) / 1_000),
      seconds,
      queries: counted.count - before,
      rssMb: rssMb(),
    };
  };

  const life = start();
  const { chain, journal } = await life.ready;
  let filedAt = 0n;
  const isFiled = () => withdrawals(journal).length >= wellPaid;
  const landing = await measured(`first look and ${wellPaid} withdrawals`, async () => {
    await eventually("all withdrawals are filed", isFiled, settleWithinMs);
    filedAt = chain.height;
    await eventually("all withdrawals are settled", () => chain.outbox.counts.owed === 0, settleWithinMs);
  });
  const heights = withdrawals(journal).map(({ result }) => Number((result as SettledResult).height ?? Number.NaN));
  assert(heights.every(Number.isFinite), "a withdrawal is in no block");
  await life.stop();

  const before = chain.height;
  // The block identifies what is booked from here on.
  await eventually("another block", async () => (await heightOf(rpcUrl)) > before);
  const begun = counted.escrows();
  const next = start();
  await begun;
  const { journal: books } = await next.ready;
  const isBooked = (key: string) => (books.read.payments.get(key)?.height ?? 0n) > before;
  // To read all of them meanwhile would be measured too.
  const pass = await measured("pass over all", () =>
    eventually("all are booked", () => some.every(isBooked), settleWithinMs),
  );
  if (!keys.every(isBooked)) throw new Error("some escrows were not looked at");
  const idle = await measured(`${idleMs / 1_000} s between passes`, () => sleep(realClock, idleMs));
  await next.stop();

  const line = {
    bench: "balance",
    leases,
    cpuS: pass.cpuS,
    blocks: Math.max(...heights) - Number(filedAt),
    queries: pass.queries,
    withdrawals: heights.length,
    setUpS,
  };
  report(`balance of ${leases} leases, ${shared} shared, node in another process`, [landing, pass, idle], line, bars);
}

function withdrawals({ read }: Journal): Intent[] {
  return keys.flatMap((key) => read.intents.about(key)).filter(({ what }) => what === "withdrawLease");
}

async function startNode(owner: Owner): Promise<string> {
  const child = startChild(owner, "balance-node.ts", ...[leases, wellPaid, shared].map(String));
  return (await nextMessage<Report, "ready">(child, "ready")).rpcUrl;
}

async function heightOf(rpcUrl: string): Promise<bigint> {
  const { result } = (await (await fetch(`${rpcUrl}/status`)).json()) as {
    result: { sync_info: { latest_block_height: string } };
  };
  return BigInt(result.sync_info.latest_block_height);
}

/** Counts the requests of a provider to the node. */
function countRequests(url: string) {
  let count = 0;
  let heard: () => void = () => undefined;
  return {
    get count() {
      return count;
    },
    /** The next time that escrow accounts are listed. */
    escrows: () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      }),
    transport(): RpcTransport {
      const real = createNodeTransport({ url }, realClock);
      return {
        name: real.name,
        listen: real.listen,
        close: real.close,
        send(request, bounds) {
          count += 1;
          if (request.text.includes("akash.escrow.v1.Query/Accounts")) heard();
          return real.send(request, bounds);
        },
      };
    },
  };
}
