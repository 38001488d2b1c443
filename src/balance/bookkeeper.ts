/** Books leases and bids that come and end, before the cursor passes their block, and reads from the chain what was missed. */
import type { Chain, MirrorKey, Step } from "../chain/chain.ts";
import { isOfChain } from "../chain/chain-failure.ts";
import { type Bid, type Lease, runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import {
  type BidId,
  bidOn,
  formatBidId,
  formatLeaseId,
  type LeaseId,
  parseBidId,
  parseLeaseId,
  parseOrderId,
} from "../market/ids.ts";
import { growingPauseMs } from "../runtime/back-off.ts";
import { type Clock, nsToMs, sleep } from "../runtime/clock.ts";
import { minute } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { inParallel } from "../runtime/in-parallel.ts";
import { rpcRetryFirstMs, rpcRetryMostMs } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import { type BidDeposit, bidDepositOf, bookDeposits, bookPayments, type Figures, lastFigures } from "./bookkeeping.ts";

/** Concurrent queries to bring the books up to date. */
const booksQueries = 4;
/** Leases and bids that are read before they are booked. */
const booksSlice = 100;
/** Ended leases with unpaid debt that are read at once: the newest, and those not read for longest. */
export const booksDebts = 25;
export const booksDebtsEveryMs = minute;

interface BookkeeperDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

interface News {
  readonly payments: readonly Figures[];
  readonly deposits: readonly BidDeposit[];
}

export function createBookkeeper(deps: BookkeeperDeps) {
  const { chain, journal, clock, log } = deps;
  const { mirror, provider } = chain;
  const pause = createWakeSignal(clock);
  /** Ends may have been missed. */
  let behind = false;
  /** The height at which coins last moved, so that old debt may have been paid; undefined once all debts were read. */
  let coinsMovedAt: bigint | undefined;
  let debtsReadAtMs = Number.NEGATIVE_INFINITY;
  /** Bids in flight when blocks were lost: they may have come, been won, and ended in these. */
  const inFlightBids = new Set<string>();
  let ending: AbortSignal | undefined;

  async function catchUp(sent: readonly string[]): Promise<void> {
    // The rows of those that ended may be gone already: they would be booked again.
    const lockedBids = [...mirror.bids()].filter(isLocked).map(({ id }) => id);
    await book(inMirror(lockedBids, mirror), deps, ending);
    const ids = endedUnseen(sent, deps);
    for (let from = 0; from < ids.length; from += booksSlice) {
      const slice = ids.slice(from, from + booksSlice);
      await book(await onChain(slice, slice, chain, ending), deps, ending);
    }
  }

  function fallBehind(): void {
    behind = true;
    const { intents } = journal.read;
    for (const { what, subject } of intents.unsettled(intents.owed())) {
      if (what === "createBid") inFlightBids.add(formatBidId(bidOn(parseOrderId(subject), provider)));
    }
  }

  async function update(): Promise<void> {
    if (behind) {
      behind = false;
      coinsMovedAt = mirror.height;
      const sent = [...inFlightBids];
      inFlightBids.clear();
      await catchUp(sent).catch((thrown: unknown) => {
        behind = true;
        for (const each of sent) inFlightBids.add(each);
        throw thrown;
      });
    }
    const nowMs = clock.monotonicMs();
    if (coinsMovedAt === undefined || nowMs - debtsReadAtMs < booksDebtsEveryMs) return;
    if (!(await readDebts(coinsMovedAt, deps, ending))) coinsMovedAt = undefined;
    debtsReadAtMs = nowMs;
  }

  return {
    async onStep({ block, gap, changed }: Step): Promise<void> {
      const [bids, leases] = [changedOf(changed, "bid"), changedOf(changed, "lease")];
      const { goneBids, goneLeases } = goneOf(bids, leases, deps);
      // A bid that is gone may have been won, and its lease ended, in the same lost blocks.
      const unseen = await onChain(goneBids, unique([...goneLeases, ...goneBids].map(formatBidId)), chain, ending);
      const seen = inMirror([...bids, ...leases], mirror);
      const payments = [...seen.payments, ...unseen.payments];
      await book({ payments, deposits: [...seen.deposits, ...unseen.deposits] }, deps, ending);
      if (block?.coinsMovedOf.has(provider)) coinsMovedAt = mirror.height;
      if (!gap) return;
      fallBehind();
      pause.notify();
    },
    /** Catches up at the start and after a gap, and reads old debts. */
    async run(signal: AbortSignal): Promise<void> {
      ending = signal;
      fallBehind();
      for (let failures = 0; !signal.aborted; ) {
        try {
          await update();
          if (failures > 0) log.info("books are up to date again");
          failures = 0;
        } catch (thrown) {
          if (signal.aborted) return;
          if (!isOfChain(thrown)) throw thrown;
          if (failures === 0) log.warn("books cannot be brought up to date, retrying", { error: thrown });
          failures += 1;
        }
        const retryMs = growingPauseMs(rpcRetryFirstMs, rpcRetryMostMs, failures);
        await pause.wait(failures > 0 ? retryMs : booksDebtsEveryMs, signal);
      }
    },
  };
}

function changedOf(changed: readonly MirrorKey[], wanted: MirrorKey["kind"]): BidId[] {
  return unique(changed.flatMap(({ kind, key }) => (kind === wanted ? [key] : [])));
}

/** No longer in the mirror, and not booked as ended. */
function goneOf(
  bids: readonly BidId[],
  leases: readonly BidId[],
  { chain: { mirror }, journal: { read } }: BookkeeperDeps,
) {
  return {
    goneBids: bids.filter((id) => !mirror.bid(id) && read.deposits.get(formatBidId(id))),
    goneLeases: leases.filter((id) => !mirror.lease(id) && !read.payments.get(formatLeaseId(id))?.ended),
  };
}

function inMirror(ids: readonly BidId[], mirror: Chain["mirror"]): News {
  const timeMs = nsToMs(mirror.timeNs);
  return newsOf(
    ids.map((id) => mirror.bid(id)),
    ids.map((id) => mirror.lease(id)),
    () => timeMs,
  );
}

/** Those that the chain does not have prove nothing, and are left out. */
async function onChain(
  bidIds: readonly BidId[],
  leaseIds: readonly LeaseId[],
  { mirror, queries }: BookkeeperDeps["chain"],
  signal: AbortSignal | undefined,
): Promise<News> {
  const options = { atOrAbove: mirror.height, signal };
  const bids = await inParallel(bidIds, booksQueries, async (id) => (await queries.bid(id, options)).value);
  const leases = await inParallel(leaseIds, booksQueries, async (id) => (await queries.lease(id, options)).value);
  const heights = [...bids.map((bid) => bid?.escrow?.height), ...leases.map((lease) => lease?.payment?.height)];
  const times = new Map<bigint, number>();
  for (const height of new Set(heights))
    if (height !== undefined) times.set(height, nsToMs(await queries.blockTimeNs(height, { signal })));
  const { payments, deposits } = newsOf(bids, leases, (height) => times.get(height) ?? 0);
  // The mirror decides that a deposit is locked: this reading may be older than its next step.
  return { payments, deposits: deposits.filter(({ locked }) => !locked) };
}

/** A unit of the journal waits for the disk. */
function unbooked({ payments, deposits }: News, { read }: Journal): News {
  return {
    payments: payments.filter((figures) => {
      const row = read.payments.get(formatLeaseId(figures.lease));
      return !row?.ended || row.height < figures.height;
    }),
    deposits: deposits.filter(({ bid, locked }) => {
      const isOut = read.deposits.get(formatBidId(bid)) !== undefined;
      return isOut !== (locked !== undefined);
    }),
  };
}

async function book(news: News, { journal, clock, log }: BookkeeperDeps, signal?: AbortSignal): Promise<void> {
  const { payments, deposits } = unbooked(news, journal);
  if (payments.length === 0 && deposits.length === 0) return;
  for (let failures = 1; ; failures += 1) {
    try {
      return await journal.durable("book leases and bids", (tables) => {
        bookPayments(tables, payments);
        bookDeposits(tables, deposits);
      });
    } catch (thrown) {
      // Another program holds the journal for an instant.
      if (!ProviderError.is(thrown, "AKP_JOURNAL_BUSY")) throw thrown;
      if (failures === 1) log.warn("books wait for the journal, retrying", { reason: thrown.message });
      await sleep(clock, growingPauseMs(rpcRetryFirstMs, rpcRetryMostMs, failures), signal);
    }
  }
}

/** An ended lease is paid when its escrow is funded, or an open payment settled. False without such leases. */
async function readDebts(movedAt: bigint, deps: BookkeeperDeps, signal: AbortSignal | undefined): Promise<boolean> {
  const owing = deps.journal.read.payments.mayGrow(movedAt, booksDebts).map(({ leaseId }) => parseLeaseId(leaseId));
  if (owing.length > 0) await book(await onChain([], owing, deps.chain, signal), deps, signal);
  return owing.length > 0;
}

/** Running or locked by our books, but not by the mirror. */
function endedUnseen(sent: readonly string[], { journal, chain: { mirror } }: BookkeeperDeps): BidId[] {
  const { payments, deposits } = journal.read;
  const leases = payments.running().map(({ leaseId }) => leaseId);
  const bids = deposits.all().map(({ bidId }) => bidId);
  return unique([...leases, ...bids, ...sent]).filter((id) => !runs(mirror.lease(id)) && !isLocked(mirror.bid(id)));
}

/** Running leases are booked by the escrow rounds, with their account. */
function newsOf(
  bids: readonly (Bid | undefined)[],
  leases: readonly (Lease | undefined)[],
  timeOf: (height: bigint) => number,
): News {
  return {
    payments: leases.flatMap((lease) => (lease && !runs(lease) && lastFigures(lease, timeOf)) || []),
    deposits: bids.flatMap((bid) => (bid && bidDepositOf(bid, timeOf)) ?? []),
  };
}

function isLocked(bid: Bid | undefined): boolean {
  return bid?.state === "open" || bid?.state === "active";
}

function unique(keys: readonly string[]): BidId[] {
  return [...new Set(keys)].map(parseBidId);
}
