/** Sends what was decided, exactly once: transactions are written down before they leave, and their result is read from blocks. */
import type { Intent } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Boundary, openBoundary } from "../../runtime/boundary.ts";
import { nsToMs, type Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { outboxIntents } from "../../runtime/limits.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import type { Outbox, OutboxState, Step } from "../chain.ts";
import { type Head, isSilence } from "../tx/broadcaster.ts";
import { createGasMemory } from "./gas-memory.ts";
import { bodyOf, intentOf, type OutboxDeps, type Owner, priorities } from "./intent.ts";
import { createRejectedIntents, createStall, createWalletGuard } from "./obstacles.ts";
import { createPendingTxs } from "./pending-txs.ts";
import {
  createPreparation,
  createTimeouts,
  type Ordering,
  type Preparation,
  type SendSettings,
} from "./preparation.ts";
import { createSender, type Sender } from "./sender.ts";
import { createSettlement, type Settlement } from "./settlement.ts";
import { createTracker, outboxFollowBlocks, outboxSilenceFirstMs } from "./tracker.ts";
import { anyBids, type WonBids } from "./won-bids.ts";

/** Intents wait this long for others to share their transaction; decisions about one block's orders take about as long. */
export const outboxBatchMs = 50;
/** Without word of a block the outbox looks by itself, about once a block. */
const outboxPollMs = 6 * second;

export interface OutboxOptions extends OutboxDeps {
  readonly boundary?: Boundary;
  readonly settings: SendSettings;
  /** Looked at before an intent leaves, and each time that its transaction is broadcast. */
  readonly bidsToClose?: WonBids;
  /** What may not be signed now; what was sent before is not affected. */
  readonly isHeld?: (intent: Intent) => boolean;
}

/** What services have of it, and what makes it go. */
export interface OutboxLoop extends Outbox {
  /** Settles what the step's block holds. The cursor may move only after this resolves, so no node index is needed. */
  onStep(step: Pick<Step, "block" | "gap">): Promise<void>;
  /** Works until the signal is aborted. Rejects when the journal failed or an invariant broke. */
  run(signal: AbortSignal): Promise<void>;
  /** Whether it sent the transaction; of one that failed before this process began, it may have forgotten that. */
  isOurs(hash: string): boolean;
  readonly state: OutboxState & { readonly ordering: Ordering };
  readonly counts: OutboxCounts;
}

/** What keeps the outbox from its work, in words: first what a person must do something about. */
export function outboxReason({ stalled, unproven, silent }: OutboxState): string | undefined {
  return stalled?.message ?? unproven?.message ?? silent;
}

type OutboxCounts = Outbox["counts"] & Settlement["counts"] & Sender["counts"] & Preparation["counts"];

function createParts(options: OutboxOptions) {
  const { chainId, signer, journal, clock, log, boundary = openBoundary, bidsToClose = anyBids } = options;
  const stall = createStall(clock, log);
  const walletGuard = createWalletGuard(signer.address, clock, log);
  const rejected = createRejectedIntents();
  const gasMemory = createGasMemory();
  const settlement = createSettlement({ journal, signer, log, rejected, gasMemory });
  const pendingTxs = createPendingTxs(journal, chainId);
  const timeoutsInUse = pendingTxs.all().flatMap(({ timeoutNs }) => timeoutNs ?? []);
  const lastTimeoutNs = journal.read.transactions.lastTimeoutNs(chainId, signer.address) ?? 0n;
  const timeouts = createTimeouts(lastTimeoutNs, timeoutsInUse, clock.now());
  const shared = { ...options, settlement, stall, walletGuard, rejected, pendingTxs };
  const preparation = createPreparation({ ...shared, timeouts, gasMemory });
  const sending = { ...shared, timeouts, gasMemory, preparation, boundary, bidsToClose };
  const sender = createSender(sending);
  const tracker = createTracker({ ...sending, sender });
  return { stall, walletGuard, settlement, pendingTxs, preparation, sender, tracker };
}

export function createOutbox(options: OutboxOptions): OutboxLoop {
  const { chainId, signer, chain, journal, clock, log } = options;
  const owner: Owner = { chainId, sender: signer.address };
  rejectOtherOwners(journal, owner);
  const pause = createWakeSignal(clock);
  const { stall, walletGuard, settlement, pendingTxs, preparation, sender, tracker } = createParts(options);
  let announced: Head | undefined;
  let batching: Timer | undefined;
  let silent: string | undefined;
  let silences = 0;
  let ending: AbortSignal | undefined;

  /** Bids of one moment belong into one transaction: wait a little for more. */
  function wakeSoon(): void {
    batching ??= clock.timer(outboxBatchMs, () => {
      batching = undefined;
      pause.notify();
    });
  }

  async function run(signal: AbortSignal): Promise<void> {
    ending = signal;
    try {
      while (!signal.aborted) {
        const pauseMs = await turn();
        await pause.wait(pauseMs, signal);
      }
    } finally {
      batching?.cancel();
    }
  }

  /** One pass, and how long to wait for the next if nothing happens. */
  async function turn(): Promise<number> {
    try {
      await pass();
      if (silent !== undefined) log.info("outbox works again");
      silent = undefined;
      silences = 0;
      return outboxPollMs;
    } catch (thrown) {
      if (!isPassing(thrown)) throw thrown;
      if (ending?.aborted) return 0;
      const reason = reasonOf(thrown);
      if (silent === undefined) log.warn("outbox cannot work, retrying", { reason });
      silent = reason;
      silences += 1;
      return growingPauseMs(outboxSilenceFirstMs, outboxPollMs, silences);
    }
  }

  async function pass(): Promise<void> {
    if (pendingTxs.size === 0 && journal.read.intents.owed() === 0) return;
    const head = newerHead(announced, await chain.head());
    const lookSilence = await tracker.look(head);
    const { ordering } = sender;
    const sendSilence = await sender.send(await worthSending(head, options, settlement), head);
    // What an ordering of one at a time left behind is packed anew.
    if (sender.ordering !== ordering) pause.notify();
    const silence = lookSilence ?? sendSilence;
    if (silence) throw silence;
  }

  return {
    async file(request) {
      const intent = intentOf(request, owner);
      // What is less urgent never takes the room of what is more.
      const owed = journal.read.intents.owed(intent.priority);
      if (owed >= outboxIntents) throw new ProviderError("AKP_OUTBOX_FULL", { owed });
      const id = await journal.durable("file intent", ({ intents }) => intents.file(intent));
      wakeSoon();
      return id;
    },
    wait: settlement.wait,
    onSettled: settlement.onSettled,
    cancel: settlement.cancel,
    async onStep(step) {
      await tracker.follow(step, ending);
      const { block } = step;
      if (!block) return;
      if (!announced || block.height > announced.height) announced = { height: block.height, timeNs: block.timeNs };
      pause.notify();
    },
    intentOf: (request) => intentOf(request, owner),
    wake: wakeSoon,
    isOurs: pendingTxs.isOurs,
    run,
    get state() {
      const stalled = stall.error ?? walletGuard.short;
      return { ordering: sender.ordering, stalled, silent: silent ?? tracker.heldUp, unproven: pendingTxs.unproven };
    },
    get counts() {
      const owed = journal.read.intents.owed();
      return { ...settlement.counts, ...sender.counts, ...preparation.counts, owed, inFlight: pendingTxs.size };
    },
  };
}

/** A block that was followed is certain; what nodes report, of which the time may be wrong, counts where following is late. */
function newerHead(announced: Head | undefined, reported: Head): Head {
  return announced && reported.height <= announced.height + BigInt(outboxFollowBlocks) ? announced : reported;
}

/** What waits and may leave, by the time of the chain. What has expired is settled. */
async function worthSending(
  head: Head,
  { journal, bidsToClose = anyBids, isHeld = () => false }: OutboxOptions,
  settlement: Settlement,
): Promise<readonly Intent[]> {
  const nowMs = nsToMs(head.timeNs);
  const isExpired = ({ expiresAtMs }: Intent) => expiresAtMs !== undefined && expiresAtMs <= nowMs;
  const waiting = journal.read.intents.waiting(mostWaiting);
  const expired = waiting.filter(isExpired);
  if (expired.length > 0) await settlement.expired(expired);
  for (const intent of waiting)
    if (bidsToClose.judge(intent) === "won") await settlement.cancel(intent.id, "the bid was won");
  return waiting.filter((intent) => !isExpired(intent) && !isHeld(intent) && bidsToClose.judge(intent) === "open");
}

/** Each priority has its own room. */
const mostWaiting = outboxIntents * Object.keys(priorities).length;

/** No node answered, or another program holds the journal for an instant: nothing is lost, try again. */
function isPassing(thrown: unknown): thrown is Error {
  return isSilence(thrown) || ProviderError.is(thrown, "AKP_JOURNAL_BUSY");
}

/** What an earlier run decided for one key and chain is never signed with another. */
function rejectOtherOwners({ read: { transactions, intents } }: Journal, { chainId, sender }: Owner): void {
  const left = [
    ...transactions.all().map((tx) => ({ what: `the transaction ${tx.hash}`, owner: tx })),
    ...intents.unsettled(intents.owed()).map((intent) => ({ what: `the intent ${intent.id}`, owner: bodyOf(intent) })),
  ];
  const other = left.find(({ owner }) => owner.chainId !== chainId || owner.sender !== sender);
  if (!other) return;
  const found = `${other.owner.sender} on ${other.owner.chainId}`;
  throw new ProviderError("AKP_OUTBOX_OTHER_KEY", { what: other.what, found });
}
