/**
 * Sends a transaction from a shell and waits for its fate. The provider itself sends through the outbox, which survives
 * a crash; a command that is interrupted is looked into by the person who gave it.
 */
import { type Clock, sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Random } from "../../runtime/random.ts";
import type { Signer } from "../keys/signer.ts";
import type { Broadcaster, Included } from "../outbox/broadcaster.ts";
import { type FeeSettings, feeFor, gasFor } from "./fee.ts";
import type { PackedMessage } from "./messages.ts";
import { type Draft, signTransaction, unsignedTransaction } from "./transaction.ts";

export interface SendDeps {
  readonly chainId: string;
  readonly chain: Broadcaster;
  readonly signer: Signer;
  readonly settings: FeeSettings & { readonly feeGranter?: string | undefined; readonly note?: string | undefined };
  readonly clock: Clock;
  readonly random: Random;
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
  const { chain, signer, chainId, settings, random } = deps;
  const head = await chain.head();
  const account = await chain.account(signer.address, head.height);
  if (!account) throw new ProviderError("AKP_WALLET_UNKNOWN", { address: signer.address });
  // The chain remembers the pair of stamp and sender: random nanoseconds keep two commands of one moment apart.
  const stampNs = head.timeNs + BigInt(limits.sendValidMs) * 1_000_000n + BigInt(random.int(1_000_000));
  const base = {
    messages,
    validity: { kind: "unordered", stampNs } as const,
    feeGranter: settings.feeGranter,
    note: settings.note,
  };
  const simulation = await chain.simulate(
    unsignedTransaction({ ...base, gas: 0n, fee: feeFor(probeGas, settings) }, signer.publicKey),
    head.height,
  );
  if (simulation.kind === "refused") throw new ProviderError("AKP_TX_FAILED", { reason: plainReason(simulation.log) });
  const gas = gasFor(simulation.gasUsed, settings);
  const draft: Draft = { ...base, gas, fee: feeFor(gas, settings) };
  const { bytes, hash } = signTransaction(draft, signer, { chainId, accountNumber: account.number });
  const receipt = await chain.broadcast(bytes);
  if (receipt.kind === "refused") throw new ProviderError("AKP_TX_FAILED", { ...receipt, reason: receipt.log });
  const included = await awaitInclusion(deps, hash, stampNs);
  if (included.code !== 0) throw new ProviderError("AKP_TX_FAILED", { ...included, reason: included.log });
  return { ...included, hash };
}

async function awaitInclusion({ chain, clock, signal }: SendDeps, hash: string, stampNs: bigint): Promise<Included> {
  for (;;) {
    const head = await chain.head();
    const included = await chain.findTx(hash, head.height);
    if (included) return included;
    if (head.timeNs > stampNs) throw new ProviderError("AKP_TX_LOST", { hash });
    await sleep(clock, limits.sendLookEveryMs, signal);
  }
}

/** Without the wrapping that a simulation puts around what the chain has to say. */
function plainReason(log: string): string {
  return log.replace(/^rpc error: code = \w+ desc = /, "").replace(/ with gas used: .*$/s, "");
}
