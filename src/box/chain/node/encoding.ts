import { type AbciEvent, noTxResult, type QueryResult, type TxResult } from "../abci.ts";
import { timeJson } from "../context.ts";
import { blockVersion, type Commit, type Header, voteForBlock } from "./block-bytes.ts";
import type { Block, TxPlace } from "./block-store.ts";
import { chainBlockBytes, chainBlockGas } from "./blocks.ts";
import type { Validator } from "./validator.ts";

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function headerJson(header: Header): unknown {
  return {
    version: { block: `${blockVersion}` },
    chain_id: header.chainId,
    height: `${header.height}`,
    time: timeJson(header.timeNs),
    last_block_id: header.lastBlockId,
    last_commit_hash: header.lastCommitHash,
    data_hash: header.dataHash,
    validators_hash: header.validatorsHash,
    next_validators_hash: header.nextValidatorsHash,
    consensus_hash: header.consensusHash,
    app_hash: header.appHash,
    last_results_hash: header.lastResultsHash,
    evidence_hash: header.evidenceHash,
    proposer_address: header.proposerAddress,
  };
}

export function commitJson(commit: Commit): unknown {
  return {
    height: `${commit.height}`,
    round: 0,
    block_id: commit.blockId,
    signatures: commit.signatures.map((signature) => ({
      block_id_flag: voteForBlock,
      validator_address: signature.validatorAddress,
      timestamp: timeJson(signature.timeNs),
      signature: base64(signature.signature),
    })),
  };
}

export function blockJson(block: Block): unknown {
  return {
    header: headerJson(block.header),
    data: { txs: block.txs.map(base64) },
    evidence: { evidence: [] },
    last_commit: commitJson(block.lastCommit),
  };
}

export function blockMetaJson(block: Block): unknown {
  return {
    block_id: block.id,
    block_size: `${block.sizeBytes}`,
    header: headerJson(block.header),
    num_txs: `${block.txs.length}`,
  };
}

export function blockResultsJson(block: Block): unknown {
  const { txResults, events, appHash } = block.output;
  return {
    height: `${block.header.height}`,
    txs_results: txResults.length === 0 ? null : txResults.map(txResultJson),
    finalize_block_events: events.length === 0 ? null : events.map(eventJson),
    validator_updates: null,
    consensus_param_updates: consensusUpdatesJson,
    app_hash: base64(appHash),
  };
}

/** Also the answer of CheckTx, which has the same fields. */
export function txResultJson(result: TxResult): unknown {
  return {
    code: result.code,
    data: result.data.length === 0 ? null : base64(result.data),
    log: result.log,
    info: "",
    gas_wanted: `${result.gasWanted}`,
    gas_used: `${result.gasUsed}`,
    events: result.events.map(eventJson),
    codespace: result.codespace,
  };
}

export function eventJson(event: AbciEvent): unknown {
  return event.attributes.length === 0 ? { type: event.type } : event;
}

export function txJson({ block, index }: TxPlace): unknown {
  return {
    hash: block.txHashes[index],
    height: `${block.header.height}`,
    index,
    tx_result: txResultJson(block.output.txResults[index] ?? noTxResult),
    tx: base64(block.txs[index] ?? new Uint8Array()),
  };
}

/** In the stream of events CometBFT leaves out whatever is zero or empty. */
export function txEventJson({ block, index }: TxPlace): unknown {
  const { code, data, log, gasWanted, gasUsed, events, codespace } = block.output.txResults[index] ?? noTxResult;
  return {
    TxResult: {
      height: `${block.header.height}`,
      ...(index > 0 && { index }),
      tx: base64(block.txs[index] ?? new Uint8Array()),
      result: {
        ...(code !== 0 && { code }),
        ...(data.length > 0 && { data: base64(data) }),
        ...(log !== "" && { log }),
        ...(gasWanted !== 0n && { gas_wanted: `${gasWanted}` }),
        ...(gasUsed !== 0n && { gas_used: `${gasUsed}` }),
        ...(events.length > 0 && { events: events.map(eventJson) }),
        ...(codespace !== "" && { codespace }),
      },
    },
  };
}

export function newBlockEventJson(block: Block): unknown {
  const { txResults, events, appHash } = block.output;
  return {
    block: blockJson(block),
    block_id: block.id,
    result_finalize_block: {
      ...(events.length > 0 && { events: events.map(eventJson) }),
      ...(txResults.length > 0 && { tx_results: txResults.map(txResultJson) }),
      validator_updates: null,
      consensus_param_updates: consensusUpdatesJson,
      app_hash: base64(appHash),
    },
  };
}

export function queryJson(result: QueryResult): unknown {
  return {
    code: result.code,
    log: result.log,
    info: "",
    index: "0",
    key: null,
    value: result.value.length === 0 ? null : base64(result.value),
    proofOps: null,
    height: `${result.height}`,
    codespace: result.codespace,
  };
}

export function publicKeyJson(publicKey: Uint8Array): unknown {
  return { type: "tendermint/PubKeyEd25519", value: base64(publicKey) };
}

export function validatorJson(validator: Validator): unknown {
  return {
    address: validator.address,
    pub_key: publicKeyJson(validator.publicKey),
    voting_power: `${validator.power}`,
    proposer_priority: "0",
  };
}

/** Evidence must be younger than a stake takes to unbond; there is no unbonding here, the values are the network's. */
export const consensusParamsJson = {
  block: { max_bytes: `${chainBlockBytes}`, max_gas: `${chainBlockGas}` },
  evidence: { max_age_num_blocks: "100000", max_age_duration: "172800000000000", max_bytes: "1048576" },
  validator: { pub_key_types: ["ed25519"] },
  version: { app: "0" },
  abci: { vote_extensions_enable_height: "0" },
};

/** Part of every block, as on the network. */
const consensusUpdatesJson = { ...consensusParamsJson, version: {}, abci: {} };
