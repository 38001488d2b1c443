/** What a transaction cost us and moved, message by message, and the lines of the ledger about it. */
import type { Billed, Intent } from "../../journal/intents.ts";
import type { Tables } from "../../journal/tables.ts";
import { type Coin, formatCoins, parseCoin, sumCoins } from "../../market/coin.ts";
import type { AbciEvent } from "../block.ts";
import type { Included } from "../tx/broadcaster.ts";

/** What a transaction cost and moved per message. Fee and gas are shared equally, odd units first, so shares add up. */
export interface Bill {
  readonly fee: readonly Coin[];
  readonly feePayer: string;
  readonly gasUsed: bigint;
  /** What each message brought to our account and took from it, by its place. The fee is not in it. */
  readonly moves: ReadonlyMap<number, Move>;
}

export interface Place {
  readonly intent: Intent;
  readonly index: number;
  readonly count: number;
}

interface Move {
  readonly received: readonly Coin[];
  readonly spent: readonly Coin[];
}

export function billOf({ gasUsed, events }: Included, account: string): Bill {
  const paid = events.find((event) => event.type === "tx" && attribute(event, "fee") !== undefined);
  return {
    fee: paid ? coinsIn(paid, "fee") : [],
    feePayer: (paid && attribute(paid, "fee_payer")) ?? account,
    gasUsed,
    moves: movesOf(events, account),
  };
}

/** What the message at this place has cost by now, with all that it cost in earlier transactions. */
export function billedSoFar({ intent, index, count }: Place, { fee, gasUsed }: Bill): Billed {
  const { billed } = intent;
  const share = fee.map(({ denom, amount }) => ({ denom, amount: shareOf(amount, index, count) }));
  return {
    fee: formatCoins(sumCoins([...readCoins(billed?.fee ?? ""), ...share])),
    gasUsed: (billed?.gasUsed ?? 0n) + shareOf(gasUsed, index, count),
  };
}

export function shareOf(total: bigint, index: number, count: number): bigint {
  const [each, odd] = [total / BigInt(count), total % BigInt(count)];
  return BigInt(index) < odd ? each + 1n : each;
}

export interface PaidFee {
  readonly fee: readonly Coin[];
  readonly account: string;
  readonly height: bigint;
  readonly atMs: number;
}

/** A line for the share of every message, also of those that were in vain. Where nothing is known of them, one for all. */
export function bookFee(
  { ledger }: Pick<Tables, "ledger">,
  carried: readonly Intent[],
  { fee, account, height, atMs }: PaidFee,
): void {
  const subjects = carried.length > 0 ? carried.map(({ subject }) => subject) : [account];
  for (const { denom, amount: total } of fee) {
    for (const [index, subject] of subjects.entries()) {
      const amount = shareOf(total, index, subjects.length);
      if (amount > 0n) ledger.add({ kind: "fee", subject, denom, amount, height, atMs });
    }
  }
}

/** What the checks before the messages moved, the fee, bears no number of a message. */
function movesOf(events: readonly AbciEvent[], account: string): ReadonlyMap<number, Move> {
  const moves = new Map<number, Move>();
  for (const event of events) {
    const index = attribute(event, "msg_index");
    if (index === undefined) continue;
    const known = moves.get(Number(index)) ?? { received: [], spent: [] };
    const received = event.type === "coin_received" && attribute(event, "receiver") === account;
    const spent = event.type === "coin_spent" && attribute(event, "spender") === account;
    if (!received && !spent) continue;
    const coins = coinsIn(event, "amount");
    moves.set(Number(index), {
      received: received ? sumCoins([...known.received, ...coins]) : known.received,
      spent: spent ? sumCoins([...known.spent, ...coins]) : known.spent,
    });
  }
  return moves;
}

export function attribute({ attributes }: AbciEvent, name: string): string | undefined {
  return attributes?.find(({ key }) => key === name)?.value;
}

function coinsIn(event: AbciEvent, name: string): Coin[] {
  return readCoins(attribute(event, name) ?? "");
}

/** As the chain writes them; what is no coin moved none. */
const coinText = /^\d{1,77}[a-zA-Z][a-zA-Z0-9/:._-]{2,127}$/;

function readCoins(text: string): Coin[] {
  return sumCoins(
    text
      .split(",")
      .filter((part) => coinText.test(part))
      .map(parseCoin),
  );
}
