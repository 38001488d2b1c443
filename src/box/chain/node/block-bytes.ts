/** Headers, commits and blocks in the protobuf bytes of CometBFT, which is what is hashed, signed and cut into parts. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { TxResult } from "../abci.ts";
import { fromHex, merkleRoot, upperHex } from "./merkle.ts";

/** Hashes and addresses are kept as upper-case hex: that is how they travel, and it takes less memory than bytes do. */
export interface BlockId {
  readonly hash: string;
  readonly parts: { readonly total: number; readonly hash: string };
}

export interface Header {
  readonly chainId: string;
  readonly height: bigint;
  readonly timeNs: bigint;
  readonly lastBlockId: BlockId;
  readonly lastCommitHash: string;
  readonly dataHash: string;
  readonly validatorsHash: string;
  readonly nextValidatorsHash: string;
  readonly consensusHash: string;
  /** The state after the block before this one. */
  readonly appHash: string;
  readonly lastResultsHash: string;
  readonly evidenceHash: string;
  readonly proposerAddress: string;
}

export interface CommitSignature {
  readonly validatorAddress: string;
  readonly timeNs: bigint;
  readonly signature: Uint8Array;
}

export interface Commit {
  readonly height: bigint;
  readonly blockId: BlockId;
  readonly signatures: readonly CommitSignature[];
}

/** Version of the block format that clients of this CometBFT expect. */
export const blockVersion = 11;

export const noBlockId: BlockId = { hash: "", parts: { total: 0, hash: "" } };

/** What the block before the first one would have been signed with. */
export const noCommit: Commit = { height: 0n, blockId: noBlockId, signatures: [] };

/** How large the parts are that nodes send each other; the hash over them is part of a block's id. */
const partBytes = 65_536;

/** A validator voted for this very block. */
export const voteForBlock = 2;

const precommit = 2;
const nsPerSecond = 1_000_000_000n;
const consensusVersion = message((w) => uint32(w, 1, blockVersion));

export function headerHash(header: Header): string {
  const fields = [
    consensusVersion,
    message((w) => text(w, 1, header.chainId)),
    message((w) => int64(w, 1, header.height)),
    timestamp(header.timeNs),
    blockIdBytes(header.lastBlockId),
    ...[...hashesOf(header), header.proposerAddress].map((hex) => message((w) => bytes(w, 1, fromHex(hex)))),
  ];
  return upperHex(merkleRoot(fields));
}

/** The SDK shows the proposer's address as people write it. */
export function headerBytes(header: Header, proposer: Uint8Array = fromHex(header.proposerAddress)): Uint8Array {
  return message((w) => {
    embed(w, 1, consensusVersion);
    text(w, 2, header.chainId);
    int64(w, 3, header.height);
    embed(w, 4, timestamp(header.timeNs));
    embed(w, 5, blockIdBytes(header.lastBlockId));
    for (const [index, hex] of hashesOf(header).entries()) bytes(w, 6 + index, fromHex(hex));
    embed(w, 14, proposer);
  });
}

/** In the order of their fields. */
function hashesOf(header: Header): readonly string[] {
  return [
    header.lastCommitHash,
    header.dataHash,
    header.validatorsHash,
    header.nextValidatorsHash,
    header.consensusHash,
    header.appHash,
    header.lastResultsHash,
    header.evidenceHash,
  ];
}

export function blockBytes(header: Uint8Array, txs: readonly Uint8Array[], lastCommit: Commit): Uint8Array {
  return message((w) => {
    embed(w, 1, header);
    nested(w, 2, (data) => {
      for (const tx of txs) embed(data, 1, tx);
    });
    embed(w, 3, new Uint8Array());
    embed(w, 4, commitBytes(lastCommit));
  });
}

export function partsOf(block: Uint8Array): BlockId["parts"] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < block.length; at += partBytes) parts.push(block.subarray(at, at + partBytes));
  return { total: parts.length, hash: upperHex(merkleRoot(parts)) };
}

export function blockIdBytes(id: BlockId): Uint8Array {
  return message((w) => {
    bytes(w, 1, fromHex(id.hash));
    nested(w, 2, (parts) => {
      uint32(parts, 1, id.parts.total);
      bytes(parts, 2, fromHex(id.parts.hash));
    });
  });
}

export function commitHash(commit: Commit): string {
  return upperHex(merkleRoot(commit.signatures.map(signatureBytes)));
}

function commitBytes(commit: Commit): Uint8Array {
  return message((w) => {
    int64(w, 1, commit.height);
    embed(w, 3, blockIdBytes(commit.blockId));
    for (const signature of commit.signatures) embed(w, 4, signatureBytes(signature));
  });
}

function signatureBytes(signature: CommitSignature): Uint8Array {
  return message((w) => {
    uint32(w, 1, voteForBlock);
    bytes(w, 2, fromHex(signature.validatorAddress));
    embed(w, 3, timestamp(signature.timeNs));
    bytes(w, 4, signature.signature);
  });
}

/** What a validator signs when it votes for a block. */
export function voteBytes(chainId: string, height: bigint, id: BlockId, timeNs: bigint): Uint8Array {
  const vote = message((w) => {
    uint32(w, 1, precommit);
    w.tag(2, WireType.Bit64).sfixed64(height);
    embed(w, 4, blockIdBytes(id));
    embed(w, 5, timestamp(timeNs));
    text(w, 6, chainId);
  });
  return new BinaryWriter().bytes(vote).finish();
}

/** Only what every node computes alike goes into the hash; logs and events may differ. */
export function resultsHash(results: readonly TxResult[]): string {
  const leaves = results.map((result) =>
    message((w) => {
      uint32(w, 1, result.code);
      bytes(w, 2, result.data);
      int64(w, 5, result.gasWanted);
      int64(w, 6, result.gasUsed);
    }),
  );
  return upperHex(merkleRoot(leaves));
}

export function validatorBytes(publicKey: Uint8Array, power: bigint): Uint8Array {
  return message((w) => {
    nested(w, 1, (key) => bytes(key, 1, publicKey));
    int64(w, 2, power);
  });
}

export function blockLimitBytes(maxBytes: number, maxGas: number): Uint8Array {
  return message((w) => {
    int64(w, 1, BigInt(maxBytes));
    int64(w, 2, BigInt(maxGas));
  });
}

export function timestamp(ns: bigint): Uint8Array {
  return message((w) => {
    int64(w, 1, ns / nsPerSecond);
    int64(w, 2, ns % nsPerSecond);
  });
}

export function message(write: (writer: BinaryWriter) => unknown): Uint8Array {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
}

/** A field that is written even when it is empty, as messages within messages are. */
export function embed(w: BinaryWriter, field: number, value: Uint8Array): void {
  w.tag(field, WireType.LengthDelimited).bytes(value);
}

function nested(w: BinaryWriter, field: number, write: (writer: BinaryWriter) => unknown): void {
  embed(w, field, message(write));
}

function bytes(w: BinaryWriter, field: number, value: Uint8Array): void {
  if (value.length > 0) embed(w, field, value);
}

function text(w: BinaryWriter, field: number, value: string): void {
  if (value !== "") w.tag(field, WireType.LengthDelimited).string(value);
}

function int64(w: BinaryWriter, field: number, value: bigint): void {
  if (value !== 0n) w.tag(field, WireType.Varint).int64(value);
}

function uint32(w: BinaryWriter, field: number, value: number): void {
  if (value !== 0) w.tag(field, WireType.Varint).uint32(value);
}
