/** What must hold before any message of a transaction is worked on. What it changes stays even if a message fails. */
import { SignMode } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Coin, formatCoins } from "../../market/coin.ts";
import { decimalOf, mulDecimals, parseDecimal, toInteger } from "../../market/decimal.ts";
import { areValidCoins } from "./coins.ts";
import { timeJson } from "./context.ts";
import { sdkError } from "./errors.ts";
import { plainEvent } from "./events.ts";
import { ChainError, type Context } from "./module.ts";
import { type Account, authParams, findAccount, saveAccount } from "./modules/auth/accounts.ts";
import { sendToModule } from "./modules/bank/balances.ts";
import { useAllowance } from "./modules/feegrant/feegrant.ts";
import { addressOfKey, signatureHolds, signBytes } from "./signatures.ts";
import type { Fee, Transaction } from "./transaction.ts";
import { takeStamp } from "./unordered.ts";

export type Mode = "check" | "finalize" | "simulate";

interface AnteInput {
  readonly tx: Transaction;
  readonly context: Context;
  readonly mode: Mode;
  /** Some chains have transactions without a sequence switched off. */
  readonly unorderedEnabled: boolean;
}

/** In the order of the real chain: it decides which of several faults is reported, and what is paid before. */
export const anteChecks: readonly ((input: AnteInput) => void)[] = [
  isComplete,
  isInTime,
  memoFits,
  sizeIsPaid,
  feeIsPaid,
  keysAreKnown,
  signaturesAreFew,
  signaturesArePaid,
  signaturesHold,
  sequencesAdvance,
];

/** What a signature and its key add to a transaction that is simulated without one. */
const missingSignatureBytes = 112;
/** Stands for a key that a simulated transaction does not carry, so that storing it is counted. */
const placeholderKey = new Uint8Array(33);
/** Three of the checks look up the parameters of auth, which the real chain keeps in its store. */
const paramsGas = 1_100n;
/** Beyond this a meter would overflow. */
const mostGas = 2n ** 63n - 1n;
const sizeGasPerByte = Number(authParams.txSizeCostPerByte);

function isComplete({ tx }: AnteInput): void {
  if (!tx.fee) throw new ChainError("undefined", 1, "missing fee");
  if (tx.fee.gasLimit > mostGas) {
    throw sdkError("invalidRequest", `invalid gas supplied; ${tx.fee.gasLimit} > ${mostGas}`);
  }
  const { signatures } = tx.raw;
  if (signatures.length === 0) throw sdkError("noSignatures");
  if (signatures.length !== tx.signers.length) {
    throw sdkError("unauthorized", `wrong number of signers; expected ${tx.signers.length}, got ${signatures.length}`);
  }
}

function isInTime({ tx, context }: AnteInput): void {
  if (tx.timeoutHeight > 0n && context.height > tx.timeoutHeight) {
    throw sdkError("txTimeoutHeight", `block height: ${context.height}, timeout height: ${tx.timeoutHeight}`);
  }
  if (tx.timeoutNs !== 0n && tx.timeoutNs < context.timeNs) {
    const [block, stamp] = [goTime(context.timeNs), goTime(tx.timeoutNs)];
    throw sdkError("txTimeout", `block time: ${block}, timeout timestamp: ${stamp}`);
  }
}

function memoFits({ tx }: AnteInput): void {
  const length = Buffer.byteLength(tx.memo);
  const most = authParams.maxMemoCharacters;
  if (BigInt(length) <= most) return;
  throw sdkError("memoTooLarge", `maximum number of characters is ${most} but received ${length} characters`);
}

function sizeIsPaid({ tx, context, mode }: AnteInput): void {
  context.useGas(paramsGas, "ReadFlat");
  context.useGas(BigInt(tx.bytes.length * sizeGasPerByte), "txSize");
  if (mode !== "simulate") return;
  for (const [index, signer] of tx.signers.entries()) {
    if (tx.raw.signatures[index]?.length !== 0) continue;
    // The chain looks up the key that will sign, and that is paid for like any other look.
    findAccount(context, signer);
    context.useGas(BigInt(missingSignatureBytes * sizeGasPerByte), "txSize");
  }
}

function feeIsPaid({ tx, context, mode }: AnteInput): void {
  if (!tx.fee) return;
  // The minimum gas price is local to a node's mempool; a block may hold cheaper transactions of another node.
  if (mode === "check") paysTheMinimum(tx.fee);
  deductFee(context, tx.fee, tx.fee.payer || (tx.signers[0] ?? ""));
}

/** Minimum gas price of the network's nodes. */
const gasPrice = parseDecimal("0.0025");

function paysTheMinimum({ coins, gasLimit }: Fee): void {
  const required = { denom: "uakt", amount: toInteger(mulDecimals(gasPrice, decimalOf(gasLimit)), "up") };
  if (coins.some(({ denom, amount }) => denom === required.denom && amount >= required.amount)) return;
  const words = `insufficient fees; got: ${formatCoins(coins)} required: ${formatCoins([required])}`;
  throw sdkError("insufficientFee", words);
}

/** From the granter, if the fee names one that allows it, else from the payer. */
function deductFee(context: Context, { coins, granter }: Fee, payer: string): void {
  if (granter && granter !== payer) useAllowance(context, granter, payer, coins);
  const from = granter || payer;
  if (!findAccount(context, from)) throw sdkError("unknownAddress", `fee payer address: ${from} does not exist`);
  // "0uakt" is no valid amount, but it is no fee either: clients estimate gas with it.
  if (coins.some(({ amount }) => amount !== 0n)) collect(context, from, coins);
  context.emit(plainEvent("tx", { fee: formatCoins(coins), fee_payer: from }));
}

function collect(context: Context, from: string, coins: readonly Coin[]): void {
  if (!areValidCoins(coins)) throw sdkError("insufficientFee", `invalid fee amount: ${formatCoins(coins)}`);
  try {
    sendToModule(context, from, "fee_collector", coins);
  } catch (error) {
    // The SDK wraps the bank's rejection once more, so clients see the words twice.
    if (error instanceof ChainError && error.code === sdkError("insufficientFunds").code) {
      throw sdkError("insufficientFunds", error.message);
    }
    throw error;
  }
}

function keysAreKnown({ tx, context, mode }: AnteInput): void {
  for (const [index, { address, publicKey: given }] of tx.signerInfos.entries()) {
    const publicKey = given ?? (mode === "simulate" ? placeholderKey : undefined);
    if (!publicKey) continue;
    if (mode !== "simulate" && addressOfKey(publicKey) !== address) {
      throw sdkError("invalidPubKey", `pubKey does not match signer address ${address} with signer index: ${index}`);
    }
    const account = signerAccount(context, address);
    if (!account.publicKey) saveAccount(context, { ...account, publicKey });
  }
  for (const [index, { address, sequence }] of tx.signerInfos.entries()) {
    if (!tx.unordered) context.emit(plainEvent("tx", { acc_seq: `${address}/${sequence}` }));
    const signature = Buffer.from(tx.raw.signatures[index] ?? []).toString("base64");
    context.emit(plainEvent("tx", { signature }));
  }
}

function signaturesAreFew({ tx, context }: AnteInput): void {
  context.useGas(paramsGas, "ReadFlat");
  const count = tx.signerInfos.filter(({ publicKey }) => publicKey).length;
  if (BigInt(count) <= authParams.txSigLimit) return;
  throw sdkError("tooManySignatures", `signatures: ${count}, limit: ${authParams.txSigLimit}`);
}

function signaturesArePaid({ tx, context }: AnteInput): void {
  context.useGas(paramsGas, "ReadFlat");
  for (const { address } of tx.signerInfos) {
    signerAccount(context, address);
    context.useGas(authParams.sigVerifyCostSecp256k1, "ante verify: secp256k1");
  }
}

function signaturesHold({ tx, context, mode, unorderedEnabled }: AnteInput): void {
  if (tx.unordered && !unorderedEnabled) {
    throw sdkError("notSupported", "unordered transactions are not enabled");
  }
  if (tx.signerInfos.length !== tx.signers.length) {
    const [expected, got] = [tx.signers.length, tx.signerInfos.length];
    throw sdkError("unauthorized", `invalid number of signer;  expected: ${expected}, got ${got}`);
  }
  if (tx.unordered) takeStamp(context, tx.timeoutNs, tx.signers, mode !== "simulate");
  for (const [index, { address, sequence, mode: signMode }] of tx.signerInfos.entries()) {
    if (tx.unordered && sequence > 0n) {
      throw sdkError("invalidRequest", "sequence is not allowed for unordered transactions");
    }
    const account = signerAccount(context, address);
    if (!tx.unordered && sequence !== account.sequence) {
      throw sdkError("wrongSequence", `account sequence mismatch, expected ${account.sequence}, got ${sequence}`);
    }
    if (mode !== "simulate")
      signatureHoldsFor(tx, context, account, signMode, tx.raw.signatures[index] ?? new Uint8Array());
  }
}

function signatureHoldsFor(
  tx: Transaction,
  { chainId }: Context,
  { number, publicKey }: Account,
  mode: number,
  signature: Uint8Array,
): void {
  if (!publicKey) throw sdkError("invalidPubKey", "pubkey on account is not set");
  const unauthorized = (reason: string) =>
    sdkError(
      "unauthorized",
      `signature verification failed; please verify account number (${number}) and chain-id (${chainId}): (${reason})`,
    );
  if (mode !== SignMode.SIGN_MODE_DIRECT) throw unauthorized(`unsupported sign mode ${mode}`);
  if (!signatureHolds(publicKey, signBytes(tx, chainId, number), signature)) {
    throw unauthorized("unable to verify single signer signature");
  }
}

function sequencesAdvance({ tx, context }: AnteInput): void {
  if (tx.unordered) return;
  for (const signer of tx.signers) {
    const account = signerAccount(context, signer);
    saveAccount(context, { ...account, sequence: account.sequence + 1n });
  }
}

function signerAccount(context: Context, address: string): Account {
  const account = findAccount(context, address);
  if (account) return account;
  throw sdkError("unknownAddress", `account ${address} does not exist`);
}

/** "2026-11-15 08:23:55.615665784 +0000 UTC", as Go prints a time. */
function goTime(ns: bigint): string {
  return timeJson(ns).replace("T", " ").replace("Z", " +0000 UTC");
}
