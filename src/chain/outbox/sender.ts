/** Turns groups of waiting intents into transactions that will not fail, and hands those to the chain. */
import type { Intent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { formatCoins } from "../../market/coin.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { Signer } from "../keys/signer.ts";
import { adjustedGas, type FeeSettings, feeFor, gasFor } from "../tx/fee.ts";
import { type Draft, signTransaction, unsignedTransaction, type Validity } from "../tx/transaction.ts";
import type { Account, Broadcaster, Head, Refusal } from "./broadcaster.ts";
import { type Condition, stallOf } from "./condition.ts";
import type { Flight } from "./flight.ts";
import { messageOf, messageTypeOf } from "./intent.ts";
import type { Settlement } from "./settlement.ts";
import type { Stamps } from "./stamps.ts";
import { causeOf } from "./verdict.ts";

/** Unordered where the chain takes it: such transactions need no turn and are all under way at once. */
export type Ordering = "unordered" | "ordered";

export interface SendSettings extends FeeSettings {
  readonly feeGranter?: string | undefined;
  readonly note?: string | undefined;
  /** Most gas of one transaction; a single message that needs more goes alone. */
  readonly mostGas?: bigint;
  readonly ordering?: Ordering;
}

export interface SenderDeps {
  readonly chainId: string;
  readonly signer: Signer;
  readonly chain: Broadcaster;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly boundary: Boundary;
  readonly settings: SendSettings;
  readonly stamps: Stamps;
  readonly settlement: Settlement;
  readonly condition: Condition;
  /** Transactions under way, by hash. */
  readonly flights: Map<string, Flight>;
}

export interface Sender {
  /** Sends the group, in as many transactions as it takes; what cannot be sent now stays where it is. */
  send(group: readonly Intent[], point: SendPoint): Promise<void>;
  /** Hands a transaction to the chain, for the first time or again. */
  broadcast(flight: Flight, head: Head): Promise<void>;
  readonly ordering: Ordering;
  /** Transactions that may be under way at once. */
  readonly mostFlights: number;
  readonly mostGas: bigint;
  /** About what the message needs, from what its like used; 0 when none was seen. */
  gasOf(intent: Intent): bigint;
  /** Whether it waits for a block after this head, because a node would not run it on this one. */
  setAside(intent: Intent, head: Head): boolean;
  /** Whether it must travel alone: the node would not run it, and did not say why. */
  doubted(intent: Intent): boolean;
  /** The intent is settled. */
  forget(id: number): void;
  readonly counts: Readonly<SenderCounts>;
}

export interface SenderCounts {
  simulations: number;
  /** Groups cut in two because nothing said which message was wrong, or because they needed too much gas. */
  halved: number;
  transactions: number;
  broadcasts: number;
  refused: number;
}

/** The state of the chain that a pass works from. */
export interface SendPoint {
  readonly head: Head;
  readonly account: Account;
  /** When it changes under way, the rest waits for the next pass: sequences leave room for one transaction only. */
  readonly ordering: Ordering;
}

type Prepared =
  | { readonly kind: "ready"; readonly draft: Draft }
  | { readonly kind: "retry"; readonly groups: readonly (readonly Intent[])[] }
  | { readonly kind: "stop" };

const stop: Prepared = { kind: "stop" };

export function createSender(deps: SenderDeps): Sender {
  const { chainId, signer, chain, journal, clock, log, boundary, settings, settlement, condition, flights } = deps;
  const mostGas = typeof settings.gas === "bigint" ? settings.gas : (settings.mostGas ?? limits.outboxTxGas);
  const counts: SenderCounts = { simulations: 0, halved: 0, transactions: 0, broadcasts: 0, refused: 0 };
  /** By type of message; the types are few. */
  const gasByType = new Map<string, bigint>();
  /** Intents that a node would not run, the height where that was, and whether it named the message. */
  const doubts = new Map<number, { readonly height: bigint; readonly named: boolean }>();
  let ordering: Ordering = settings.ordering ?? "unordered";

  const mostFlights = () => (ordering === "unordered" ? limits.outboxFlights : 1);

  async function send(group: readonly Intent[], point: SendPoint): Promise<void> {
    const work = [group];
    for (let next = work.shift(); next; next = work.shift()) {
      if (next.length === 0) continue;
      if (flights.size >= mostFlights() || ordering !== point.ordering) return;
      const prepared = await prepare(next, point);
      if (prepared.kind === "stop") return;
      if (prepared.kind === "retry") work.unshift(...prepared.groups);
      else await launch(next, prepared.draft, point);
    }
  }

  async function prepare(group: readonly Intent[], point: SendPoint): Promise<Prepared> {
    const validity = nextValidity(point);
    if (!validity) return stop;
    const messages = group.map(messageOf);
    const { feeGranter, note } = settings;
    // With about the fee that it will pay: what the fee takes is missing for deposits.
    const estimate = group.reduce((sum, intent) => sum + gasOf(intent), 0n);
    const fee = feeFor(estimate, settings);
    const draft: Draft = { messages, validity, gas: 0n, fee, feeGranter, note };
    const unsigned = unsignedTransaction(draft, signer.publicKey);
    if (unsigned.length > limits.outboxTxBytes) return withoutTheBulk(group, unsigned.length);
    counts.simulations += 1;
    const answer = await chain.simulate(unsigned, point.head.height);
    if (answer.kind === "refused") return withoutTheGuilty(group, answer.log, point);
    for (const { id } of group) doubts.delete(id);
    learnGas(group, answer.gasUsed);
    const floor = group.reduce((sum, { gasFloor = 0n }) => sum + gasFloor, 0n);
    if (group.length > 1 && larger(adjustedGas(answer.gasUsed, settings), floor) > mostGas) return halve(group);
    const gas = larger(gasFor(answer.gasUsed, settings), floor);
    return { kind: "ready", draft: { ...draft, gas, fee: feeFor(gas, settings) } };
  }

  function nextValidity({ head, account }: SendPoint): Validity | undefined {
    if (ordering === "ordered") {
      const timeoutHeight = head.height + BigInt(limits.outboxTimeoutBlocks);
      return { kind: "ordered", sequence: account.sequence, timeoutHeight };
    }
    const stampNs = deps.stamps.next(head, clock.now());
    if (stampNs !== undefined) return { kind: "unordered", stampNs };
    condition.stall(new ProviderError("AKP_STAMPS_AHEAD", { chainId, address: signer.address }));
    return undefined;
  }

  /** No node would take it, nor even read it. */
  async function withoutTheBulk(group: readonly Intent[], bytes: number): Promise<Prepared> {
    if (group.length > 1) return halve(group);
    await settlement.impossible(group[0] as Intent, `${bytes} bytes are more than a node takes`);
    return { kind: "retry", groups: [] };
  }

  /** Fees are never spent on a message that would fail: it is set aside, and the others try again without it. */
  async function withoutTheGuilty(group: readonly Intent[], reason: string, { head }: SendPoint): Promise<Prepared> {
    const cause = causeOf(reason);
    const guilty = cause.kind === "message" ? group[cause.index] : undefined;
    if (guilty) {
      await doubt(guilty, reason, head, true);
      return { kind: "retry", groups: [group.filter((intent) => intent !== guilty)] };
    }
    switch (cause.kind) {
      case "unordered":
        if (ordering === "ordered") break;
        fallBack(reason);
        return stop;
      case "funds":
      case "price":
      case "account":
        stallFor({ code: 0, codespace: "", log: reason }, "the fee");
        return stop;
      case "stale":
        return stop;
    }
    if (group.length > 1) return halve(group);
    await doubt(group[0] as Intent, reason, head, false);
    return { kind: "retry", groups: [] };
  }

  function fallBack(reason: string): void {
    if (ordering === "ordered") return;
    ordering = "ordered";
    log.info("the chain takes no unordered transactions; sending one after the other", { reason });
  }

  /** A node may be confused, or not know the newest order yet; only a second no at a later height is believed. */
  async function doubt(intent: Intent, reason: string, head: Head, named: boolean): Promise<void> {
    const first = doubts.get(intent.id);
    if (first === undefined) doubts.set(intent.id, { height: head.height, named });
    else if (head.height > first.height) await settlement.impossible(intent, reason);
  }

  function halve(group: readonly Intent[]): Prepared {
    counts.halved += 1;
    const middle = Math.ceil(group.length / 2);
    return { kind: "retry", groups: [group.slice(0, middle), group.slice(middle)] };
  }

  function gasOf(intent: Intent): bigint {
    return gasByType.get(messageTypeOf(intent)) ?? 0n;
  }

  function learnGas(group: readonly Intent[], gasUsed: bigint): void {
    const share = adjustedGas(gasUsed, settings) / BigInt(group.length);
    for (const intent of group) gasByType.set(messageTypeOf(intent), share);
  }

  /** Written down first, with all that the chain needs to take it at most once; then it leaves. */
  async function launch(group: readonly Intent[], draft: Draft, { head, account }: SendPoint): Promise<void> {
    const { bytes, hash } = signTransaction(draft, signer, { chainId, accountNumber: account.number });
    const { kind, ...bounds } = draft.validity;
    const subjects = group.map(({ subject }) => subject);
    const firstHeight = head.height + 1n;
    const flight: Flight = { hash, chainId, sender: signer.address, bytes, firstHeight, ...bounds, subjects };
    const sent = { txHash: hash, ...(draft.validity.kind === "unordered" && { timeoutNs: draft.validity.stampNs }) };
    const written = await journal.durable("send transaction", ({ intents, transactions }) => {
      // Somebody may have settled one of them meanwhile; the next pass goes on without it.
      if (!group.every(({ id }) => intents.get(id)?.state === "filed")) return false;
      for (const { id } of group) intents.send(id, sent);
      transactions.add(flight);
      return true;
    });
    if (!written) return;
    flights.set(hash, flight);
    counts.transactions += 1;
    log.debug("transaction signed", { hash, kind, messages: group.length, gas: `${draft.gas}` });
    await broadcast(flight, head, formatCoins(draft.fee));
  }

  function stallFor(refusal: Refusal, fee: string): void {
    const stalled = stallOf(refusal, signer.address, fee);
    if (stalled) condition.stall(stalled);
  }

  async function broadcast(flight: Flight, head: Head, fee = "the fee"): Promise<void> {
    boundary.cross("broadcast", "broadcast:before");
    const receipt = await chain.broadcast(flight.bytes);
    boundary.cross("broadcast", "broadcast:after");
    counts.broadcasts += 1;
    flight.askedAt = head.height;
    if (receipt.kind === "taken") {
      delete flight.refusal;
      condition.clear();
      return;
    }
    counts.refused += 1;
    flight.refusal = receipt;
    stallFor(receipt, fee);
    if (causeOf(receipt.log).kind === "unordered") fallBack(receipt.log);
    log.debug("transaction refused; the chain will show whether another node has it", {
      hash: flight.hash,
      ...receipt,
    });
  }

  return {
    send,
    broadcast,
    get ordering() {
      return ordering;
    },
    get mostFlights() {
      return mostFlights();
    },
    mostGas,
    gasOf,
    setAside: ({ id }, { height }) => (doubts.get(id)?.height ?? -1n) >= height,
    doubted: ({ id }) => doubts.get(id)?.named === false,
    forget: (id) => void doubts.delete(id),
    counts,
  };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
