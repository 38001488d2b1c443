/** Makes blocks: runs the transactions through the application and wraps what came out in signed, hashed headers. */
import { invariant } from "../../../runtime/invariant.ts";
import type { App, BlockInput } from "../abci.ts";
import * as wire from "./block-bytes.ts";
import type { Block } from "./block-store.ts";
import { merkleRoot, sha256, upperHex } from "./merkle.ts";
import type { Validator } from "./validator.ts";

/** What the network's consensus parameters say; also part of every block's hash. */
export const chainBlockBytes = 22_020_096;
/** No limit, as on the network. */
export const chainBlockGas = -1;

const noEvidenceHash = upperHex(merkleRoot([]));
const blockLimit = { maxBytes: BigInt(chainBlockBytes), maxGas: BigInt(chainBlockGas) };
const consensusHash = upperHex(sha256(wire.blockLimitCodec.encode(blockLimit)));

export function txHash(tx: Uint8Array): string {
  return upperHex(sha256(tx));
}

/** The block after `last`. The application has moved on when this returns; call it once per height. */
export function makeBlock(
  app: App,
  validator: Validator,
  last: Block | undefined,
  { height, timeNs, txs }: BlockInput,
): Block {
  const appHash = upperHex(app.appHash);
  const output = app.finalizeBlock({ height, timeNs, txs });
  invariant(output.txResults.length === txs.length, "every transaction of a block has a result", { height });
  const hashes = txs.map((tx) => sha256(tx));
  // The time of a block is the time of the votes for the one before it.
  const lastCommit = last ? validator.commit(last.header.height, last.id, timeNs) : wire.noCommit;
  const header: wire.Header = {
    chainId: app.chainId,
    height,
    timeNs,
    lastBlockId: last?.id ?? wire.noBlockId,
    lastCommitHash: wire.commitHash(lastCommit),
    dataHash: upperHex(merkleRoot(hashes)),
    validatorsHash: validator.setHash,
    nextValidatorsHash: validator.setHash,
    consensusHash,
    appHash,
    lastResultsHash: wire.resultsHash(last?.output.txResults ?? []),
    evidenceHash: noEvidenceHash,
    proposerAddress: validator.address,
  };
  const bytes = wire.blockBytes(wire.headerBytes(header), txs, lastCommit);
  const id = { hash: wire.headerHash(header), parts: wire.partsOf(bytes) };
  return { id, header, txs, txHashes: hashes.map(upperHex), lastCommit, output, sizeBytes: bytes.length };
}
