/** Transactions from messages to signed bytes, in the chain's direct sign mode, and what they ask for and pay. */
import { hash } from "node:crypto";
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { AuthInfo, SignDoc, SignMode, TxBody, TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { type Coin, type DecCoin, sumCoins } from "../../market/coin.ts";
import { type Decimal, decimalOf, mulDecimals, toInteger } from "../../market/decimal.ts";
import { extended, nanoseconds, optional } from "../../runtime/protobuf.ts";
import type { Signer } from "../keys/signer.ts";
import type { PackedMessage } from "./messages.ts";

/**
 * Makes a transaction unique. Unordered: an unused timeout timestamp at most ten minutes ahead. Ordered: the next sequence, up to a height.
 */
export type Validity =
  | { readonly kind: "unordered"; readonly timeoutNs: bigint }
  | { readonly kind: "ordered"; readonly sequence: bigint; readonly timeoutHeight: bigint };

export interface Draft {
  readonly messages: readonly PackedMessage[];
  readonly validity: Validity;
  readonly gas: bigint;
  readonly fee: readonly Coin[];
  /** The account that allows us to pay the fee with its money. */
  readonly feeGranter?: string | undefined;
  readonly note?: string | undefined;
}

export function signTransaction(
  draft: Draft,
  signer: Signer,
  { chainId, accountNumber }: { readonly chainId: string; readonly accountNumber: bigint },
) {
  const bodyBytes = writeBody(draft);
  const authInfoBytes = writeAuthInfo(draft, signer.publicKey);
  const doc = SignDoc.fromPartial({ bodyBytes, authInfoBytes, chainId, accountNumber });
  const signature = signer.sign(SignDoc.encode(doc).finish());
  const bytes = TxRaw.encode({ bodyBytes, authInfoBytes, signatures: [signature] }).finish();
  return { bytes, hash: transactionHash(bytes) };
}

/** The same transaction for a simulation: the signature is left empty, since it is not checked. */
export function unsignedTransaction(draft: Draft, publicKey: Uint8Array): Uint8Array {
  const signatures = [new Uint8Array()];
  const authInfoBytes = writeAuthInfo(draft, publicKey);
  return TxRaw.encode({ bodyBytes: writeBody(draft), authInfoBytes, signatures }).finish();
}

/** As the chain writes it: upper-case hex. */
export function transactionHash(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex").toUpperCase();
}

/** The package's own timeout_timestamp would be a Date, which knows no nanoseconds. */
const txBody = extended(TxBody, { timeoutNs: optional(5, nanoseconds) });

function writeBody({ messages, validity, note = "" }: Draft): Uint8Array {
  const unordered = validity.kind === "unordered";
  const body = TxBody.fromPartial({
    messages: [...messages],
    memo: note,
    timeoutHeight: unordered ? 0 : validity.timeoutHeight.toString(),
    unordered,
  });
  return txBody.encode({ ...body, timeoutNs: unordered ? validity.timeoutNs : undefined });
}

function writeAuthInfo({ validity, gas, fee, feeGranter = "" }: Draft, publicKey: Uint8Array): Uint8Array {
  const key = { typeUrl: "/cosmos.crypto.secp256k1.PubKey", value: PubKey.encode({ key: publicKey }).finish() };
  const info = {
    publicKey: key,
    modeInfo: { single: { mode: SignMode.SIGN_MODE_DIRECT } },
    sequence: validity.kind === "ordered" ? validity.sequence.toString() : 0,
  };
  const amount = fee.map(({ denom, amount }) => ({ denom, amount: amount.toString() }));
  const wireFee = { amount, gasLimit: gas.toString(), payer: "", granter: feeGranter };
  return AuthInfo.encode(AuthInfo.fromPartial({ signerInfos: [info], fee: wireFee })).finish();
}

export interface FeeSettings {
  /** Factor on the gas that a simulation used: a block finds another state than the simulation did. */
  readonly gasAdjustment: Decimal;
  readonly gasPrices: readonly DecCoin[];
  /** Instead of what was simulated. */
  readonly gas?: "auto" | bigint;
  /** Instead of gas times price. */
  readonly fees?: readonly Coin[] | undefined;
}

/** What it will need, going by what it needed in a simulation. */
export function adjustedGas(simulated: bigint, { gasAdjustment }: FeeSettings): bigint {
  return toInteger(mulDecimals(decimalOf(simulated), gasAdjustment), "up");
}

export function gasFor(simulated: bigint, settings: FeeSettings): bigint {
  const { gas = "auto" } = settings;
  return gas === "auto" ? adjustedGas(simulated, settings) : gas;
}

export function feeFor(gas: bigint, { gasPrices, fees }: FeeSettings): Coin[] {
  if (fees) return sumCoins(fees);
  return sumCoins(
    gasPrices.map(({ denom, amount }) => ({ denom, amount: toInteger(mulDecimals(amount, decimalOf(gas)), "up") })),
  );
}
