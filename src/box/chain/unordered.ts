/**
 * Transactions without a sequence. The chain remembers who has used which time-out stamp until the stamp has passed, so
 * such a transaction commits at most once.
 */
import { sdkError } from "./errors.ts";
import type { Context } from "./module.ts";

/** The furthest a stamp may lie ahead, which bounds how much there is to remember. */
const longestAheadNs = 600n * 1_000_000_000n;
/** Pays for forgetting the stamp later, which happens outside any transaction. */
const rememberGas = 2240n;

/** The order of the checks is the SDK's; `remember` is left out in simulations. */
export function takeStamp(context: Context, stampNs: bigint, signers: readonly string[], remember: boolean): void {
  if (stampNs === 0n) throw sdkError("invalidRequest", "unordered transaction must have timeout_timestamp set");
  if (stampNs < context.timeNs) {
    throw sdkError("invalidRequest", "unordered transaction has a timeout_timestamp that has already passed");
  }
  if (stampNs > context.timeNs + longestAheadNs) throw sdkError("invalidRequest", "unordered tx ttl exceeds 10m0s");
  context.useGas(rememberGas, "unordered tx");
  if (!remember) return;
  for (const signer of signers) {
    const key = `${writeStamp(stampNs)}/${signer}`;
    if (stamps(context).has(key)) {
      const reason = `sender ${signer} has already used timeout ${stampNs}`;
      throw sdkError("invalidRequest", `failed to add unordered nonce: ${reason}`);
    }
    stamps(context).set(key, true);
  }
}

/** Before each block. A stamp that equals the block's time can still arrive in that block, so it is kept. */
export function forgetPassedStamps(context: Context): void {
  const now = writeStamp(context.timeNs);
  const passed: string[] = [];
  for (const [key] of stamps(context).entries()) {
    if (key >= now) break;
    passed.push(key);
  }
  for (const key of passed) stamps(context).delete(key);
}

function stamps(context: Context) {
  return context.store.table<true>("auth/unordered-stamps");
}

/** Of equal length, so that their order as text is their order in time. */
function writeStamp(ns: bigint): string {
  return ns.toString().padStart(20, "0");
}
