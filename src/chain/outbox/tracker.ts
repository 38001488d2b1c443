/**
 * Learns what became of every transaction under way. The blocks that we follow say it best; where some of them were lost,
 * or are read too late, nodes are asked for the hash.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Step } from "../chain.ts";
import type { ChainBlock } from "../comet/block.ts";
import { type Account, type Broadcaster, type Head, type Included, includedAt } from "./broadcaster.ts";
import type { Condition } from "./condition.ts";
import { type Flight, nextStep } from "./flight.ts";
import type { Flights } from "./flights.ts";
import type { Purse } from "./purse.ts";
import type { Sender } from "./sender.ts";
import type { Settlement } from "./settlement.ts";
import { ChainSilence, eachApart } from "./silence.ts";
import { causeOf, fateOf } from "./verdict.ts";

export interface TrackerDeps {
  readonly address: string;
  readonly chain: Broadcaster;
  readonly clock: Clock;
  readonly log: Log;
  readonly flights: Flights;
  readonly sender: Sender;
  readonly settlement: Settlement;
  readonly condition: Condition;
  readonly purse: Purse;
}

export interface Tracker {
  /** A step along the chain. What it says is in the journal when this resolves. */
  follow(step: Pick<Step, "block" | "gap">, signal?: AbortSignal): Promise<void>;
  /** Does what is to be done about each transaction under way. */
  look(head: Head): Promise<ChainSilence | undefined>;
  /** Why a block waits to be worked through, while that is so. */
  readonly heldUp: string | undefined;
}

export function createTracker(deps: TrackerDeps): Tracker {
  const { address, chain, clock, log, flights, sender, settlement, condition, purse } = deps;
  let toldUnproven: unknown;
  let heldUp: string | undefined;

  async function followNow({ block, gap }: Pick<Step, "block" | "gap">): Promise<void> {
    if (gap) await flights.lose(gap.to);
    if (!block) return;
    // Blocks that nobody handed over are lost as well.
    if (flights.followed === undefined || block.height > flights.followed + 1n) await flights.lose(block.height - 1n);
    await landAll(block);
    flights.follow(block.height);
  }

  async function landAll({ txs, height }: ChainBlock): Promise<void> {
    if (flights.size === 0) return;
    for (const tx of txs) {
      const flight = flights.get(tx.hash);
      if (flight) await land(flight, includedAt(height, tx));
    }
  }

  async function land(flight: Flight, included: Included): Promise<void> {
    if (fateOf(included).kind === "undecided") return;
    await settlement.included(flight, included);
    flights.remove(flight);
    condition.landed();
    const { code, log: reason } = included;
    if (code !== 0 && flight.costly && causeOf(reason).kind === "funds") purse.runShort(reason);
  }

  async function bury(flight: Flight): Promise<void> {
    await settlement.dead(flight);
    flights.remove(flight);
    condition.died(flight);
  }

  async function lookAt(flight: Flight, head: Head, account: Account | undefined): Promise<void> {
    const followed = flights.followedFor(flight);
    const isLate = followed === undefined || head.height > followed + BigInt(limits.outboxFollowBlocks);
    const found = isLate ? await find(flight, head) : undefined;
    // A block may have settled it while the node was asked.
    if (!flights.get(flight.hash)) return;
    const step = nextStep(flight, { head, found, account, followed: flights.followedFor(flight) });
    if (step.kind === "broadcast") await sender.rebroadcast(flight, head);
    if (step.kind === "settle") await land(flight, step.included);
    if (step.kind === "refile") await bury(flight);
    flight.lookedAt = head.height;
  }

  async function find(flight: Flight, head: Head): Promise<Included | undefined> {
    try {
      const found = await chain.findTx(flight.hash, head.height, flight.firstHeight);
      flight.unproven = undefined;
      return found;
    } catch (thrown) {
      const cause = thrown instanceof ChainSilence ? thrown.cause : undefined;
      if (!ProviderError.is(cause, "AKP_TX_UNPROVEN")) throw thrown;
      // What the blocks are going to say needs no other proof.
      flight.unproven = flights.followedFor(flight) === undefined ? cause : undefined;
      return undefined;
    }
  }

  function tellUnproven(): void {
    const error = flights.unproven;
    if (error && error.details["hash"] !== toldUnproven) log.error(error.message, { advice: error.advice });
    toldUnproven = error?.details["hash"];
  }

  return {
    async follow(step, signal) {
      for (;;) {
        try {
          await followNow(step);
          heldUp = undefined;
          return;
        } catch (thrown) {
          if (!ProviderError.is(thrown, "AKP_JOURNAL_BUSY")) throw thrown;
          if (heldUp === undefined) log.error("block cannot be worked through, trying again", { error: thrown });
          heldUp = thrown.message;
          await sleep(clock, limits.outboxSilenceFirstMs, signal);
        }
      }
    },
    async look(head) {
      const due = flights.all().filter((flight) => {
        const { lookedAt, passedAt } = flight;
        if (lookedAt === undefined || lookedAt < head.height) return true;
        return passedAt !== undefined && (flights.followedFor(flight) ?? 0n) >= passedAt;
      });
      const ordered = due.some(({ sequence }) => sequence !== undefined);
      const account = ordered ? await chain.account(address, head.height) : undefined;
      const silence = await eachApart(due, (flight) => lookAt(flight, head, account));
      tellUnproven();
      return silence;
    },
    get heldUp() {
      return heldUp;
    },
  };
}
