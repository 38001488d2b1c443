/** Headers, commits and blocks in the protobuf bytes of CometBFT, which is what is hashed, signed and cut into parts. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  bytes,
  type Codec,
  int32,
  int64,
  messageOf,
  nanoseconds,
  plain,
  repeated,
  required,
  text,
} from "../../../runtime/protobuf.ts";
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
const none = new Uint8Array();
const hex: Codec<string> = { encode: fromHex, decode: upperHex };
const hash = (number: number) => plain(number, hex, "");

const versionCodec = messageOf({ block: int32(1) });
const version = { block: blockVersion };

export const blockIdCodec = messageOf<BlockId>({
  hash: hash(1),
  parts: required(2, messageOf<BlockId["parts"]>({ total: int32(1), hash: hash(2) }), noBlockId.parts),
});

const headerCodec = messageOf({
  version: required(1, versionCodec, version),
  chainId: plain(2, text, ""),
  height: int64(3),
  timeNs: required(4, nanoseconds, 0n),
  lastBlockId: required(5, blockIdCodec, noBlockId),
  lastCommitHash: hash(6),
  dataHash: hash(7),
  validatorsHash: hash(8),
  nextValidatorsHash: hash(9),
  consensusHash: hash(10),
  appHash: hash(11),
  lastResultsHash: hash(12),
  evidenceHash: hash(13),
  proposer: plain(14, bytes, none),
});

const signatureCodec = messageOf({
  flag: int32(1),
  validatorAddress: hash(2),
  timeNs: required(3, nanoseconds, 0n),
  signature: plain(4, bytes, none),
});

const commitCodec = messageOf({
  height: int64(1),
  blockId: required(3, blockIdCodec, noBlockId),
  signatures: repeated(4, bytes),
});

const blockCodec = messageOf({
  header: required(1, bytes, none),
  data: required(2, messageOf({ txs: repeated(1, bytes) }), { txs: [] }),
  evidence: required(3, bytes, none),
  lastCommit: required(4, bytes, none),
});

/** Every field is a leaf: messages as they are, all else as the only field of a message. */
export function headerHash(header: Header): string {
  const hashes = [
    header.lastCommitHash,
    header.dataHash,
    header.validatorsHash,
    header.nextValidatorsHash,
    header.consensusHash,
    header.appHash,
    header.lastResultsHash,
    header.evidenceHash,
    header.proposerAddress,
  ];
  const leaves = [
    versionCodec.encode(version),
    messageOf({ chainId: plain(1, text, "") }).encode(header),
    messageOf({ height: int64(1) }).encode(header),
    nanoseconds.encode(header.timeNs),
    blockIdCodec.encode(header.lastBlockId),
    ...hashes.map((value) => messageOf({ value: hash(1) }).encode({ value })),
  ];
  return upperHex(merkleRoot(leaves));
}

/** The SDK shows the proposer's address as people write it. */
export function headerBytes(header: Header, proposer: Uint8Array = fromHex(header.proposerAddress)): Uint8Array {
  return headerCodec.encode({ ...header, version, proposer });
}

export function blockBytes(header: Uint8Array, txs: readonly Uint8Array[], lastCommit: Commit): Uint8Array {
  const signatures = lastCommit.signatures.map(signatureBytes);
  return blockCodec.encode({
    header,
    data: { txs: [...txs] },
    evidence: none,
    lastCommit: commitCodec.encode({ ...lastCommit, signatures }),
  });
}

export function partsOf(block: Uint8Array): BlockId["parts"] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < block.length; at += partBytes) parts.push(block.subarray(at, at + partBytes));
  return { total: parts.length, hash: upperHex(merkleRoot(parts)) };
}

export function commitHash(commit: Commit): string {
  return upperHex(merkleRoot(commit.signatures.map(signatureBytes)));
}

function signatureBytes(signature: CommitSignature): Uint8Array {
  return signatureCodec.encode({ ...signature, flag: voteForBlock });
}

/** What a validator signs when it votes for a block. */
export function voteBytes(chainId: string, height: bigint, id: BlockId, timeNs: bigint): Uint8Array {
  const vote = new BinaryWriter()
    .tag(1, WireType.Varint)
    .uint32(precommit)
    .tag(2, WireType.Bit64)
    .sfixed64(height)
    .tag(4, WireType.LengthDelimited)
    .bytes(blockIdCodec.encode(id))
    .tag(5, WireType.LengthDelimited)
    .bytes(nanoseconds.encode(timeNs))
    .tag(6, WireType.LengthDelimited)
    .string(chainId);
  return new BinaryWriter().bytes(vote.finish()).finish();
}

const resultCodec = messageOf({
  code: int32(1),
  data: plain(2, bytes, none),
  gasWanted: int64(5),
  gasUsed: int64(6),
});

/** Only what every node computes alike goes into the hash; logs and events may differ. */
export function resultsHash(results: readonly TxResult[]): string {
  return upperHex(merkleRoot(results.map(resultCodec.encode)));
}

export const validatorCodec = messageOf({
  publicKey: required(1, messageOf({ ed25519: plain(1, bytes, none) }), { ed25519: none }),
  power: int64(2),
});

export const blockLimitCodec = messageOf({ maxBytes: int64(1), maxGas: int64(2) });
