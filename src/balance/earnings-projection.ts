/** What the running leases will bring if nothing changes: nobody funds them any more, and nobody closes them. */
import { dayMs } from "../journal/ledger.ts";
import type { PaymentRow } from "../journal/payments.ts";
import { decimalOf, mulDecimals, parseDecimal, toInteger } from "../market/decimal.ts";
import { largest, smallest } from "../runtime/bigint.ts";
import { second } from "../runtime/durations.ts";

/** How far apart blocks must be to tell how fast the chain makes them: about ten minutes. */
const earningsPaceBlocks = 100n;
/** How long a block takes where nothing tells: what the network aims at. */
const earningsBlockMs = 6 * second;

/** Of one denomination, in micro-units. */
export interface Projection {
  readonly denom: string;
  readonly leases: number;
  /** In the next day and in the next thirty, as far as the escrows reach. */
  readonly perDay: bigint;
  readonly in30Days: bigint;
  /** Leases whose escrow does not reach that far. */
  readonly runOut: number;
}

/** A block that we know the height and the time of. */
interface Moment {
  readonly height: bigint;
  readonly atMs: number;
}

/** How many blocks there are in a time, learned from blocks far enough apart. */
interface BlockPace {
  note(moment: Moment): void;
  blocksIn(ms: number): bigint;
}

export function createBlockPace(): BlockPace {
  let [first, last]: (Moment | undefined)[] = [];
  return {
    note(moment) {
      if (!first || moment.height < first.height) first = moment;
      if (!last || moment.height > last.height) last = moment;
    },
    blocksIn(ms) {
      const blocks = first && last ? last.height - first.height : 0n;
      const tookMs = first && last ? last.atMs - first.atMs : 0;
      const isKnown = blocks >= earningsPaceBlocks && tookMs > 0;
      const [perBlocks, perMs] = isKnown ? [blocks, BigInt(tookMs)] : [1n, BigInt(earningsBlockMs)];
      return (BigInt(Math.max(0, Math.round(ms))) * perBlocks) / perMs;
    },
  };
}

export function projectionOf(running: readonly PaymentRow[], pace: BlockPace, nowMs: number): Projection[] {
  for (const row of running) pace.note(row);
  const [perDay, in30Days] = [pace.blocksIn(dayMs), pace.blocksIn(30 * dayMs)];
  const byDenom = Map.groupBy(running, ({ denom }) => denom);
  return [...byDenom]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([denom, rows]) => {
      const paid = rows.map((row) => ({ row, blocks: blocksPaid(row, pace, nowMs) }));
      const sum = (most: bigint) =>
        paid.reduce((total, { row, blocks }) => total + earned(row, smallest(most, blocks ?? most)), 0n);
      return {
        denom,
        leases: rows.length,
        perDay: sum(perDay),
        in30Days: sum(in30Days),
        runOut: paid.filter(({ blocks }) => blocks !== undefined && blocks < in30Days).length,
      };
    });
}

/** From now on until the escrow is spent; undefined where that is not known. */
function blocksPaid({ spentAt, height, atMs }: PaymentRow, pace: BlockPace, nowMs: number): bigint | undefined {
  if (spentAt === undefined) return undefined;
  return largest(0n, spentAt - height - pace.blocksIn(nowMs - atMs));
}

function earned({ rate }: PaymentRow, blocks: bigint): bigint {
  return toInteger(mulDecimals(parseDecimal(rate), decimalOf(blocks)), "truncate");
}
