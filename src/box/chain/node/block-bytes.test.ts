import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { type Answer, startNode } from "../../../../test/support/embedded-node.ts";
import { readJsonRecording } from "../../../../test/support/recordings.ts";
import {
  blockBytes,
  type Commit,
  commitHash,
  type Header,
  headerBytes,
  headerHash,
  partsOf,
  resultsHash,
  voteBytes,
} from "./block-bytes.ts";
import { merkleRoot, sha256, upperHex } from "./merkle.ts";

const recordedHeights = [3, 321, 322, 323, 325, 337, 338, 339, 411, 413, 415];

test("the hashes of every recorded block come out as the real node computed them", () => {
  for (const height of recordedHeights) {
    const { block_id, block } = recorded(height).block;
    const header = headerFrom(block.header);
    const commit = commitFrom(block.last_commit);
    const txs: Uint8Array[] = block.data.txs.map((tx: string) => Buffer.from(tx, "base64"));
    assert.equal(headerHash(header), block_id.hash, `header ${height}`);
    assert.equal(commitHash(commit), block.header.last_commit_hash, `commit in ${height}`);
    assert.equal(upperHex(merkleRoot(txs.map((tx) => sha256(tx)))), block.header.data_hash, `data of ${height}`);
    assert.deepEqual(partsOf(blockBytes(headerBytes(header), txs, commit)), block_id.parts, `parts of ${height}`);
  }
});

test("the hash over the results of a recorded block stands in the next one", () => {
  for (const height of [321, 322, 337, 338]) {
    const results = recorded(height).block_results.txs_results.map((result: Answer) => ({
      ...result,
      data: Buffer.from(result.data ?? "", "base64"),
      gasWanted: BigInt(result.gas_wanted),
      gasUsed: BigInt(result.gas_used),
    }));
    assert.equal(resultsHash(results), recorded(height + 1).block.block.header.last_results_hash);
  }
});

test("the recorded votes are signatures over the bytes that we would sign", () => {
  const { validator_info } = readJsonRecording<Answer>("chain/status.json").result;
  for (const height of recordedHeights) {
    const { block } = recorded(height).block;
    assertSigned(block.header.chain_id, commitFrom(block.last_commit), validator_info.pub_key.value);
  }
});

test("our own blocks are hashed and signed so that any client can verify them", async (t) => {
  const node = await startNode(t);
  for (let made = 0; made < 3; made++) node.step();
  const { validators } = await node.call("validators");
  for (const height of ["2", "3"]) {
    const { block_id, block } = await node.call("block", { height });
    assert.equal(headerHash(headerFrom(block.header)), block_id.hash);
    const { signed_header } = await node.call("commit", { height });
    assert.equal(signed_header.commit.block_id.hash, block_id.hash);
    assertSigned(node.chainId, commitFrom(signed_header.commit), validators[0].pub_key.value);
  }
});

function assertSigned(chainId: string, commit: Commit, publicKey: string): void {
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey, "base64").toString("base64url") };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  assert.equal(commit.signatures.length, 1);
  for (const { timeNs, signature } of commit.signatures) {
    const bytes = voteBytes(chainId, commit.height, commit.blockId, timeNs);
    assert.ok(verify(null, bytes, key, signature), `the vote for block ${commit.height}`);
  }
}

function recorded(height: number): Answer {
  return readJsonRecording(`chain/blocks/${height}.json`);
}

function headerFrom(json: Answer): Header {
  return {
    chainId: json.chain_id,
    height: BigInt(json.height),
    timeNs: nsFrom(json.time),
    lastBlockId: json.last_block_id,
    lastCommitHash: json.last_commit_hash,
    dataHash: json.data_hash,
    validatorsHash: json.validators_hash,
    nextValidatorsHash: json.next_validators_hash,
    consensusHash: json.consensus_hash,
    appHash: json.app_hash,
    lastResultsHash: json.last_results_hash,
    evidenceHash: json.evidence_hash,
    proposerAddress: json.proposer_address,
  };
}

function commitFrom(json: Answer): Commit {
  return {
    height: BigInt(json.height),
    blockId: json.block_id,
    signatures: json.signatures.map((each: Answer) => ({
      validatorAddress: each.validator_address,
      timeNs: nsFrom(each.timestamp),
      signature: Buffer.from(each.signature, "base64"),
    })),
  };
}

function nsFrom(time: string): bigint {
  const [, seconds, fraction = ""] = /^([^.]*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}
