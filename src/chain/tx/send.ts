/** Sends a transaction from a shell and waits for its result. The provider itself sends through the outbox. */
import { msToNs, sleep } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Random } from "../../runtime/random.ts";
import type { Signer } from "../keys/signer.ts";
import { type Broadcaster, causeOf, type Head, type Included, isSilence, type SenderAccount } from "./broadcaster.ts";
import type { PackedMessage } from "./messages.ts";
import {
  type Draft,
  type FeeSettings,
  feeFor,
  gasFor,
  signTransaction,
  unsignedTransaction,
  type Validity,
} from "./transaction.ts";

/** A person waits for it: twenty blocks is long enough for any node to include it. */
export const sendValidMs = 2 * minute;
/** The same where a chain counts blocks instead of time. */
const sendValidBlocks = 20;
/** Often enough to feel prompt with blocks of one second. */
const sendLookEveryMs = 500;
/** A node's index follows its blocks, and behind one name there may be nodes that lag; so much later all are past it. */
export const outboxProofBlocks = 5;

export interface SendDeps extends Pick<RuntimeDeps, "clock" | "random"> {
  readonly chainId: string;
  readonly chain: Broadcaster;
  readonly signer: Signer;
  readonly settings: FeeSettings & { readonly feeGranter?: string | undefined; readonly note?: string | undefined };
  /** Ends the wait for the block, not what was sent already. */
  readonly signal?: AbortSignal;
}

export interface Sent extends Included {
  readonly hash: string;
}

/** A simulation also counts what paying the fee costs, so it needs one of about the right size. */
const probeGas = 200_000n;

/** Resolves when the transaction is in a block and did what it should; throws what the chain has against it. */
export async function sendMessages(deps: SendDeps, messages: readonly PackedMessage[]): Promise<Sent> {
  const head = await deps.chain.head();
  const account = await deps.chain.account(deps.signer.address, head.height);
  if (!account) throw new ProviderError("AKP_WALLET_UNKNOWN", { address: deps.signer.address });
  const draft =
    (await prepare(deps, messages, unorderedAt(head, deps.random), head)) ??
    (await prepare(deps, messages, orderedAt(head, account), head));
  if (!draft)
    throw new ProviderError("AKP_TX_FAILED", { reason: "the chain takes it neither with nor without a sequence" });
  const place = { chainId: deps.chainId, accountNumber: account.number };
  const { bytes, hash } = signTransaction(draft, deps.signer, place);
  const receipt = await deps.chain.broadcast(bytes).catch((thrown) => {
    throw new ProviderError("AKP_TX_UNSETTLED", { hash, reason: reasonOf(thrown) }, { cause: thrown });
  });
  if (receipt.kind === "refused") throw new ProviderError("AKP_TX_FAILED", { ...receipt, reason: receipt.log });
  const included = await awaitInclusion(deps, { hash, validity: draft.validity, firstHeight: head.height + 1n });
  if (included.code !== 0) throw new ProviderError("AKP_TX_FAILED", { ...included, reason: included.log });
  return { ...included, hash };
}

/** With the gas of a simulation; undefined where the chain takes no transaction of this validity. */
async function prepare(
  { chain, signer, settings }: SendDeps,
  messages: readonly PackedMessage[],
  validity: Validity,
  head: Head,
): Promise<Draft | undefined> {
  const base = { messages, validity, feeGranter: settings.feeGranter, note: settings.note };
  const probe = unsignedTransaction({ ...base, gas: 0n, fee: feeFor(probeGas, settings) }, signer.publicKey);
  const simulation = await chain.simulate(probe, head.height);
  if (simulation.kind === "refused") {
    if (causeOf(simulation.log).kind === "unordered") return undefined;
    throw new ProviderError("AKP_TX_FAILED", { reason: plainReason(simulation.log) });
  }
  const gas = gasFor(simulation.gasUsed, settings);
  return { ...base, gas, fee: feeFor(gas, settings) };
}

/** The chain remembers the pair of timeout timestamp and sender: random nanoseconds keep two commands of one moment apart. */
function unorderedAt({ timeNs }: Head, random: Random): Validity {
  const timeoutNs = timeNs + msToNs(sendValidMs) + BigInt(random.int(1_000_000));
  return { kind: "unordered", timeoutNs };
}

function orderedAt({ height }: Head, { sequence }: SenderAccount): Validity {
  return { kind: "ordered", sequence, timeoutHeight: height + BigInt(sendValidBlocks) };
}

function hasPassed(validity: Validity, { height, timeNs }: Head): boolean {
  return validity.kind === "unordered" ? timeNs > validity.timeoutNs : height > validity.timeoutHeight;
}

/** Once it has left, it must not be sent again before it is certain that no block holds it. */
async function awaitInclusion(
  { chain, clock, signal }: SendDeps,
  { hash, validity, firstHeight }: { hash: string; validity: Validity; firstHeight: bigint },
): Promise<Included> {
  const untilMs = clock.monotonicMs() + 2 * sendValidMs;
  let passedAt: bigint | undefined;
  for (;;) {
    let reason = "no new block for a long time";
    try {
      const head = await chain.head();
      const included = await chain.findTx(hash, head.height, firstHeight);
      if (included) return included;
      if (hasPassed(validity, head)) passedAt ??= head.height;
      // A node indexes a block after it has made it, so the first look after the time-out proves nothing.
      if (passedAt !== undefined && head.height >= passedAt + BigInt(outboxProofBlocks)) {
        throw new ProviderError("AKP_TX_LOST", { hash });
      }
    } catch (thrown) {
      if (!isSilence(thrown)) throw thrown;
      reason = reasonOf(thrown);
    }
    if (clock.monotonicMs() >= untilMs) throw new ProviderError("AKP_TX_UNSETTLED", { hash, reason });
    await sleep(clock, sendLookEveryMs, signal);
  }
}

/** Without the wrapping that a simulation puts around what the chain has to say. */
function plainReason(log: string): string {
  return log.replace(/^rpc error: code = \w+ desc = /, "").replace(/ with gas used: .*$/s, "");
}
