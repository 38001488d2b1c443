/** Signs what was prepared, writes it down and hands it to the chain. */
import type { Intent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { formatCoins } from "../../market/coin.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Signer } from "../keys/signer.ts";
import { isCostly } from "../tx/cost.ts";
import { type Draft, signTransaction } from "../tx/transaction.ts";
import type { Broadcaster, Head, Reach } from "./broadcaster.ts";
import { type Condition, stallOf } from "./condition.ts";
import type { Flight } from "./flight.ts";
import { type Flights, flightOf } from "./flights.ts";
import type { Load, Ordering, Preparation, SendPoint } from "./preparation.ts";
import type { Purse } from "./purse.ts";
import { causeOf } from "./verdict.ts";

export interface SenderDeps {
  readonly chainId: string;
  readonly signer: Signer;
  readonly chain: Broadcaster;
  readonly journal: Journal;
  readonly log: Log;
  readonly boundary: Boundary;
  /** What to begin with. */
  readonly ordering: Ordering;
  readonly preparation: Preparation;
  readonly condition: Condition;
  readonly purse: Purse;
  readonly flights: Flights;
}

export interface Sender {
  /** Sends the group, in as many transactions as it takes; what cannot be sent now stays where it is. */
  send(group: readonly Intent[], point: SendPoint): Promise<void>;
  /** Hands a transaction to every node, again. */
  rebroadcast(flight: Flight, head: Head): Promise<void>;
  readonly ordering: Ordering;
  /** Transactions that may be under way at once. */
  readonly mostFlights: number;
  readonly counts: Readonly<SenderCounts>;
}

export interface SenderCounts {
  transactions: number;
  broadcasts: number;
  refused: number;
}

export function createSender(deps: SenderDeps): Sender {
  const { chainId, signer, chain, journal, log, boundary, preparation, condition, purse, flights } = deps;
  const counts: SenderCounts = { transactions: 0, broadcasts: 0, refused: 0 };
  let { ordering } = deps;
  /** The group that was cut down to what the wallet has, while it is on its way. */
  let cutting: readonly Intent[] | undefined;

  const mostFlights = () => (ordering === "unordered" ? limits.outboxFlights : 1);

  async function send(group: readonly Intent[], point: SendPoint): Promise<void> {
    const work: Load[] = [{ intents: group, cut: false }];
    try {
      for (let next = work.shift(); next; next = work.shift()) {
        const load = withinReach(next, group);
        if (load.intents.length === 0) continue;
        if (flights.airborne.length >= mostFlights() || ordering !== point.ordering) return;
        const prepared = await preparation.prepare(load, point);
        if (prepared.kind === "stop") return;
        if (prepared.kind === "unordered") return fallBack(prepared.reason);
        if (prepared.kind === "retry") work.unshift(...prepared.loads);
        else await launch(load, prepared.draft, point);
      }
    } finally {
      if (cutting === group) cutting = undefined;
    }
  }

  /** What others under way cost no simulation has seen: of a wallet that is short only one group takes its part. */
  function withinReach(load: Load, group: readonly Intent[]): Load {
    if (!load.cut) return load;
    const alone = cutting === undefined && !flights.airborne.some(({ costly }) => costly);
    if (alone) cutting = group;
    if (cutting === group) return load;
    return { intents: load.intents.filter(({ what }) => !isCostly(what)), cut: true };
  }

  function fallBack(reason: string): void {
    if (ordering === "ordered") return;
    ordering = "ordered";
    log.info("chain takes no unordered transactions, sending them one after the other", { reason });
  }

  /** Written down first, with all that the chain needs to take it at most once; then it leaves. */
  async function launch({ intents: group, cut }: Load, draft: Draft, { head, account }: SendPoint): Promise<void> {
    const { bytes, hash } = signTransaction(draft, signer, { chainId, accountNumber: account.number });
    const { kind, ...bounds } = draft.validity;
    const firstHeight = head.height + 1n;
    // A cursor that begins later must not look as if the blocks before it had been seen.
    const gapped = flights.followed === undefined;
    const tx = { hash, chainId, sender: signer.address, bytes, firstHeight, ...bounds, ...(gapped && { gapped }) };
    const flight = flightOf(tx, group);
    const sent = { txHash: hash, ...(draft.validity.kind === "unordered" && { timeoutNs: draft.validity.stampNs }) };
    const written = await journal.durable("send transaction", ({ intents, transactions }) => {
      // Somebody may have settled one of them meanwhile; the next pass goes on without it.
      if (!group.every(({ id }) => intents.get(id)?.state === "filed")) return false;
      for (const { id } of group) intents.send(id, sent);
      transactions.add(flight);
      return true;
    });
    if (!written) return;
    flights.add(flight);
    counts.transactions += 1;
    if (flight.costly && !cut) purse.paid();
    log.debug("transaction signed", { hash, kind, messages: group.length, gas: `${draft.gas}` });
    await broadcast(flight, head, "one", formatCoins(draft.fee));
  }

  async function broadcast(flight: Flight, head: Head, reach: Reach, fee: string): Promise<void> {
    boundary.cross("broadcast", "broadcast:before");
    const receipt = await chain.broadcast(flight.bytes, reach);
    boundary.cross("broadcast", "broadcast:after");
    counts.broadcasts += 1;
    flight.askedAt = head.height;
    const refusal = receipt.kind === "taken" ? receipt.objection : receipt;
    if (refusal) flight.refusal = refusal;
    else delete flight.refusal;
    if (receipt.kind === "taken") {
      flight.taken = true;
      condition.taken();
      return;
    }
    counts.refused += 1;
    const stalled = stallOf(receipt, signer.address, fee);
    if (stalled) condition.stall(stalled);
    if (causeOf(receipt.log).kind === "unordered") fallBack(receipt.log);
    log.debug("transaction refused; the chain will show whether another node has it", {
      hash: flight.hash,
      ...receipt,
    });
  }

  return {
    send,
    rebroadcast: (flight, head) => broadcast(flight, head, "all", "the fee"),
    get ordering() {
      return ordering;
    },
    get mostFlights() {
      return mostFlights();
    },
    counts,
  };
}
