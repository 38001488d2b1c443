/**
 * Our money on many leases: a node in another process makes a block a second, and a provider with nothing but chain, journal
 * and balance checker looks after 2,000 escrows. At its start all are due at once: of the
 * first look 500 are worth a withdrawal; that of the next start, when nothing is, is the pass that is measured.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { SettledResult } from "../src/chain/chain.ts";
import { createHttpTransport } from "../src/chain/comet/http-transport.ts";
import type { RpcTransport } from "../src/chain/comet/transport.ts";
import type { Intent } from "../src/journal/intents.ts";
import type { Journal } from "../src/journal/journal.ts";
import { bidOn, formatLeaseId } from "../src/market/ids.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { eventually } from "../test/eventually.ts";
import { temporaryFolder } from "../test/folder.ts";
import { orderOf, us } from "../test/money-chain.ts";
import { startLife } from "../test/money-life.ts";
import { createOwner, type Owner } from "../test/owner.ts";
import type { Told } from "./balance-node.ts";
import { report, round, rssMb } from "./report.ts";

const leases = 2_000;
const wellPaid = 500;
const shared = 200;
/** Longer than all of this takes. */
const intervalMs = 600_000;
const patienceMs = 120_000;
const keys = Array.from({ length: leases }, (_, index) => formatLeaseId(bidOn(orderOf(BigInt(index + 1)), us)));
const some = keys.filter((_, index) => index % 97 === 0 || index === leases - 1);

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const beganMs = performance.now();
  const asked = countRequests(await startNode(owner));
  const setUpS = round((performance.now() - beganMs) / 1_000);
  const dir = temporaryFolder(owner);
  const start = () => {
    const options = { intervalMs, periodMs: 0 };
    const life = startLife({ clock: realClock, transport: asked.transport, dir, options, tokenPrice: "1" });
    owner.after(() => life.stop());
    return life;
  };
  const measured = async (name: string, work: () => Promise<unknown>) => {
    const [startedMs, before, startedCpu] = [performance.now(), asked.count, process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(startedCpu);
    const seconds = round((performance.now() - startedMs) / 1_000);
    return { name, cpuS: round((user + system) / 1e6), seconds, queries: asked.count - before, rssMb: rssMb() };
  };

  const life = start();
  const { chain, journal } = await life.ready;
  let filedAt = 0n;
  const isFiled = () => withdrawals(journal).length >= wellPaid;
  const landing = await measured(`first look and ${wellPaid} withdrawals`, async () => {
    await eventually("all withdrawals are filed", isFiled, patienceMs);
    filedAt = chain.height;
    await eventually("all withdrawals are settled", () => chain.outbox.counts.owed === 0, patienceMs);
  });
  const heights = withdrawals(journal).map(({ result }) => Number((result as SettledResult).height ?? Number.NaN));
  await life.stop();

  const before = chain.height;
  // Of another block, so that what is booked then can be told apart.
  await sleep(realClock, 2_000);
  const begun = asked.escrows();
  const next = start();
  await begun;
  const { journal: books } = await next.ready;
  const isBooked = (key: string) => (books.read.payments.get(key)?.height ?? 0n) > before;
  // To read all of them meanwhile would be measured too.
  const pass = await measured("pass over all", () =>
    eventually("all are booked", () => some.every(isBooked), patienceMs),
  );
  if (!keys.every(isBooked)) throw new Error("some escrows were not looked at");
  const idle = await measured("10 s between passes", () => sleep(realClock, 10_000));
  await next.stop();

  report(`balance of ${leases} leases, ${shared} shared, 1 s blocks, node in another process`, [landing, pass, idle], {
    bench: "balance",
    leases,
    cpuS: pass.cpuS,
    blocks: Math.max(...heights) - Number(filedAt),
    queries: pass.queries,
    withdrawals: heights.length,
    setUpS,
  });
}

function withdrawals({ read }: Journal): Intent[] {
  return keys.flatMap((key) => read.intents.about(key)).filter(({ what }) => what === "withdrawLease");
}

async function startNode(owner: Owner): Promise<string> {
  const args = [leases, wellPaid, shared].map(String);
  const child = fork(join(import.meta.dirname, "balance-node.ts"), args, { execArgv: [], serialization: "advanced" });
  const closed = once(child, "close");
  owner.after(async () => {
    child.send("stop");
    await closed;
  });
  const [{ rpcUrl }] = (await once(child, "message")) as [Told];
  return rpcUrl;
}

/** What the node is asked, by whoever lives on it. */
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
      const real = createHttpTransport({ url }, realClock);
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
