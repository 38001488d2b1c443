/** Signs transactions for tests, with any fault that a test wants in them. The program's own signer is not used here. */
import { createHash } from "node:crypto";
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import { AuthInfo, SignDoc, SignMode, TxBody, TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { addressOf } from "../../src/market/address.ts";

export interface TestKey {
  readonly secret: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly address: string;
}

/** The same name gives the same key. */
export function testKey(name: string): TestKey {
  const secret = sha256(Buffer.from(name));
  const publicKey = secp256k1.getPublicKey(secret, true);
  return { secret, publicKey, address: addressOf(ripemd160(sha256(publicKey))) };
}

export interface Signer {
  readonly key: TestKey;
  readonly accountNumber: bigint | number;
  readonly sequence?: bigint | number;
  /** Leaves the public key out of the transaction. */
  readonly anonymous?: boolean;
}

export interface Unsigned {
  readonly messages: readonly { readonly typeUrl: string; readonly value: Uint8Array }[];
  readonly signers: readonly Signer[];
  readonly chainId: string;
  readonly gas?: bigint | number;
  readonly fee?: readonly { readonly denom: string; readonly amount: string }[];
  readonly payer?: string;
  readonly granter?: string;
  readonly memo?: string;
  readonly timeoutHeight?: bigint | number;
  /** Sets `unordered`, with this time-out stamp. */
  readonly unorderedNs?: bigint;
  /** A time-out stamp for an ordered transaction. */
  readonly timeoutNs?: bigint;
  readonly extensionOptions?: readonly { readonly typeUrl: string; readonly value: Uint8Array }[];
  readonly signMode?: SignMode;
}

export function signTransaction(tx: Unsigned): Uint8Array {
  const bodyBytes = writeBody(tx);
  const authInfoBytes = writeAuthInfo(tx);
  const signatures = tx.signers.map(({ key, accountNumber }) => {
    const doc = SignDoc.fromPartial({ bodyBytes, authInfoBytes, chainId: tx.chainId, accountNumber });
    return secp256k1.sign(sha256(SignDoc.encode(doc).finish()), key.secret).toCompactRawBytes();
  });
  return TxRaw.encode({ bodyBytes, authInfoBytes, signatures }).finish();
}

/** As a client sends it to be simulated: with an empty signature for every signer. */
export function unsignedTransaction(tx: Unsigned): Uint8Array {
  const signatures = tx.signers.map(() => new Uint8Array());
  return TxRaw.encode({ bodyBytes: writeBody(tx), authInfoBytes: writeAuthInfo(tx), signatures }).finish();
}

function writeBody(tx: Unsigned): Uint8Array {
  const body = TxBody.fromPartial({
    messages: [...tx.messages],
    memo: tx.memo ?? "",
    timeoutHeight: tx.timeoutHeight ?? 0,
    unordered: tx.unorderedNs !== undefined,
    extensionOptions: [...(tx.extensionOptions ?? [])],
  });
  const timeoutNs = tx.unorderedNs ?? tx.timeoutNs;
  const bytes = TxBody.encode(body).finish();
  return timeoutNs === undefined ? bytes : Buffer.concat([bytes, writeStamp(timeoutNs)]);
}

/** Field 5 of the body by hand: the codec's Date knows no nanoseconds. */
function writeStamp(ns: bigint): Uint8Array {
  const stamp = new BinaryWriter();
  stamp.uint32(8).int64(ns / 1_000_000_000n);
  stamp.uint32(16).int32(Number(ns % 1_000_000_000n));
  return new BinaryWriter().uint32(42).bytes(stamp.finish()).finish();
}

function writeAuthInfo(tx: Unsigned): Uint8Array {
  const mode = tx.signMode ?? SignMode.SIGN_MODE_DIRECT;
  const signerInfos = tx.signers.map(({ key, sequence = 0, anonymous }) => ({
    ...(!anonymous && { publicKey: packKey(key) }),
    modeInfo: { single: { mode } },
    sequence,
  }));
  const fee = {
    amount: [...(tx.fee ?? [{ denom: "uakt", amount: "20000" }])],
    gasLimit: tx.gas ?? 200_000,
    payer: tx.payer ?? "",
    granter: tx.granter ?? "",
  };
  return AuthInfo.encode(AuthInfo.fromPartial({ signerInfos, fee })).finish();
}

function packKey({ publicKey }: TestKey) {
  return { typeUrl: "/cosmos.crypto.secp256k1.PubKey", value: PubKey.encode({ key: publicKey }).finish() };
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
