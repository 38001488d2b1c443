/** A transaction as it came over the wire, taken apart as strictly as the SDK does. */
import { PubKey } from "@akashnetwork/chain-sdk/private-types/cosmos.secp256k1";
import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { parseAddress } from "../../market/address.ts";
import type { Coin } from "../../market/coin.ts";
import { readCoins } from "./coins.ts";
import { sdkError } from "./errors.ts";
import type { MessageEntry } from "./module.ts";
import { type WireField, wireFields, wireTypes } from "./wire.ts";

export interface Transaction {
  /** As long as it travelled; its size is paid for. */
  readonly bytes: Uint8Array;
  readonly raw: cosmos.TxRaw;
  readonly messages: readonly TxMessage[];
  readonly memo: string;
  /** 0 for none. */
  readonly timeoutHeight: bigint;
  readonly unordered: boolean;
  /** In nanoseconds, which the generated codec would round away; 0 for none. */
  readonly timeoutNs: bigint;
  readonly fee: Fee | undefined;
  /** Everyone who must have signed, in order: the first one pays unless the fee names another. */
  readonly signers: readonly string[];
  readonly signerInfos: readonly Signer[];
}

export interface Fee {
  readonly coins: readonly Coin[];
  readonly gasLimit: bigint;
  /** Empty when the first signer pays. */
  readonly payer: string;
  /** Empty without a fee grant. */
  readonly granter: string;
}

export interface TxMessage {
  readonly typeUrl: string;
  readonly value: Uint8Array;
  readonly entry: MessageEntry;
  readonly signers: readonly string[];
}

interface Signer {
  /** Whose turn it is; empty when there are more infos than signers. */
  readonly address: string;
  /** The compressed key, when the transaction carries it. */
  readonly publicKey: Uint8Array | undefined;
  readonly mode: number;
  readonly sequence: bigint;
}

export type MessageEntries = ReadonlyMap<string, MessageEntry>;

const secp256k1Url = "/cosmos.crypto.secp256k1.PubKey";
/** Unknown fields with this bit in their number are non-critical and are ignored. */
const nonCritical = 1 << 10;

/** Throws a plain Error that says what is wrong with the bytes. */
export function decodeTransaction(bytes: Uint8Array, entries: MessageEntries): Transaction {
  checkEnvelope(bytes);
  const raw = cosmos.TxRaw.decode(bytes);
  const bodyFields = knownFields(raw.bodyBytes, "cosmos.tx.v1beta1.TxBody", [1, 2, 3, 4, 5, 1023, 2047], nonCritical);
  knownFields(raw.authInfoBytes, "cosmos.tx.v1beta1.AuthInfo", [1, 2, 3], 0);
  const body = cosmos.TxBody.decode(raw.bodyBytes);
  const authInfo = cosmos.AuthInfo.decode(raw.authInfoBytes);
  for (const { typeUrl } of [...body.extensionOptions, ...body.nonCriticalExtensionOptions]) throw unresolved(typeUrl);
  const messages = body.messages.map(({ typeUrl, value }) => decodeMessage(typeUrl, value, entries));
  const payer = authInfo.fee?.payer ? [authInfo.fee.payer] : [];
  const signers = [...new Set([...messages.flatMap(({ signers }) => signers), ...payer.map(parseAddress)])];
  return {
    bytes,
    raw,
    messages,
    memo: body.memo,
    timeoutHeight: body.timeoutHeight.toBigInt(),
    unordered: body.unordered,
    timeoutNs: stampOf(bodyFields),
    fee: authInfo.fee && decodeFee(authInfo.fee),
    signers,
    signerInfos: authInfo.signerInfos.map((info, index) => decodeSigner(info, signers[index] ?? "")),
  };
}

/** What the SDK answers when decodeTransaction throws: it wraps the same error twice. */
export function decodeError(error: unknown) {
  const reason = error instanceof Error ? error.message : String(error);
  return sdkError("txDecode", sdkError("txDecode", reason).message);
}

/** The envelope has one way to be written (ADR-027), else one transaction would have many hashes. */
function checkEnvelope(bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  let previous = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const number = tag >>> 3;
    if ((tag & 7) !== wireTypes.bytes) throw new Error(`expected ${wireTypes.bytes} wire type, got ${tag & 7}`);
    if (number < previous) throw new Error(`txRaw must follow ADR-027, got tagNum ${number} after tagNum ${previous}`);
    previous = number;
    const before = reader.pos;
    const length = reader.uint32();
    if (reader.pos - before !== varintBytes(length)) {
      throw new Error(`length prefix varint for tagNum ${number} is not as short as possible`);
    }
    reader.pos += length;
  }
  if (reader.pos !== reader.len) throw new Error("invalid length; unexpected EOF");
  knownFields(bytes, "cosmos.tx.v1beta1.TxRaw", [1, 2, 3], 0);
}

function knownFields(bytes: Uint8Array, type: string, known: readonly number[], ignorable: number): WireField[] {
  const fields = [...wireFields(bytes)];
  for (const { number, wireType } of fields) {
    if (known.includes(number) || (number & ignorable) !== 0) continue;
    throw new Error(`errUnknownField "${type}": {TagNum: ${number}, WireType:"${wireName(wireType)}"}`);
  }
  return fields;
}

function wireName(wireType: number): string {
  return Object.entries(wireTypes).find(([, number]) => number === wireType)?.[0] ?? `unknown type: ${wireType}`;
}

/** Throws as decodeTransaction does if no module handles the message. */
export function decodeMessage(typeUrl: string, value: Uint8Array, entries: MessageEntries): TxMessage {
  const entry = entries.get(typeUrl);
  if (!entry) throw unresolved(typeUrl);
  return { typeUrl, value, entry, signers: entry.signers(value).map(parseAddress) };
}

function unresolved(typeUrl: string): Error {
  return new Error(`unable to resolve type URL ${typeUrl}`);
}

function decodeSigner({ publicKey, modeInfo, sequence }: cosmos.SignerInfo, address: string): Signer {
  if (publicKey && publicKey.typeUrl !== secp256k1Url) throw unresolved(publicKey.typeUrl);
  return {
    address,
    publicKey: publicKey && PubKey.decode(publicKey.value).key,
    mode: modeInfo?.single?.mode ?? 0,
    sequence: sequence.toBigInt(),
  };
}

function decodeFee({ amount, gasLimit, payer, granter }: cosmos.Fee): Fee {
  return {
    coins: readCoins(amount),
    gasLimit: BigInt.asUintN(64, gasLimit.toBigInt()),
    payer: payer && parseAddress(payer),
    granter: granter && parseAddress(granter),
  };
}

function stampOf(body: readonly WireField[]): bigint {
  const stamp = body.findLast(({ number }) => number === 5);
  let ns = 0n;
  for (const { number, varint = 0n } of stamp ? wireFields(stamp.bytes) : []) {
    if (number === 1) ns += BigInt.asIntN(64, varint) * 1_000_000_000n;
    if (number === 2) ns += BigInt.asIntN(64, varint);
  }
  return ns;
}

function varintBytes(value: number): number {
  return value < 128 ? 1 : 1 + varintBytes(Math.floor(value / 128));
}
