/**
 * The transactions under way, in one place, and up to where the chain's blocks were looked through for them. Blocks are
 * the best witness: a transaction that is in none of those that could hold it never will be.
 */
import type { Intent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import type { SentTransaction } from "../../journal/transactions.ts";
import type { ProviderError } from "../../runtime/errors.ts";
import { isCostly } from "../tx/cost.ts";
import type { Flight } from "./flight.ts";
import { accountOf } from "./intent.ts";

export interface Flights {
  readonly size: number;
  all(): readonly Flight[];
  get(hash: string): Flight | undefined;
  /** Those that may still come into a block. The others wait for proof and hold nobody up but their own subjects. */
  readonly airborne: readonly Flight[];
  /** One whose time has passed and whose fate no node can know. */
  readonly unproven: ProviderError | undefined;
  add(flight: Flight): void;
  remove(flight: Flight): void;
  /** Up to where every block that might hold it was looked through; undefined when some were not. */
  followedFor(flight: Flight): bigint | undefined;
  readonly followed: bigint | undefined;
  /** This block was looked through for all of them. */
  follow(height: bigint): void;
  /** The blocks up to this one were not looked through, from the first one after those that were. */
  lose(to: bigint): Promise<void>;
}

export function createFlights(journal: Journal, chainId: string): Flights {
  const flights = new Map<string, Flight>();
  for (const tx of journal.read.transactions.all()) {
    flights.set(tx.hash, flightOf(tx, journal.read.intents.byTxHash(tx.hash)));
  }
  let seen: bigint | undefined;

  /** Until there was a block, what an earlier run looked through: the cursor moves only behind that. */
  function followed(): bigint | undefined {
    seen ??= journal.read.cursor.get(chainId);
    return seen;
  }

  return {
    get size() {
      return flights.size;
    },
    all: () => [...flights.values()],
    get: (hash) => flights.get(hash),
    get airborne() {
      return [...flights.values()].filter(({ passedAt }) => passedAt === undefined);
    },
    get unproven() {
      return [...flights.values()].find((flight) => flight.passedAt !== undefined && flight.unproven)?.unproven;
    },
    add: (flight) => void flights.set(flight.hash, flight),
    remove: ({ hash }) => void flights.delete(hash),
    followedFor: ({ gapped }) => (gapped ? undefined : followed()),
    get followed() {
      return followed();
    },
    follow(height) {
      if (height > (followed() ?? -1n)) seen = height;
    },
    async lose(to) {
      if (to <= (followed() ?? -1n)) return;
      const missed = [...flights.values()].filter(({ firstHeight, gapped }) => firstHeight <= to && !gapped);
      if (missed.length > 0) {
        await journal.durable("blocks lost", ({ transactions }) => {
          for (const { hash } of missed) transactions.markGapped(hash);
        });
      }
      for (const flight of missed) flight.gapped = true;
      seen = to;
    },
  };
}

export function flightOf(tx: SentTransaction, intents: readonly Intent[]): Flight {
  return {
    ...tx,
    subjects: intents.map(({ subject }) => subject),
    accounts: intents.flatMap((intent) => accountOf(intent) ?? []),
    costly: intents.some(({ what }) => isCostly(what)),
  };
}
