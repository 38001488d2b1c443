/** cosmos.base.tendermint.v1beta1.Service: the SDK's view of the node and its blocks. */

import * as cosmos from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import bech32 from "bech32";
import { bytes, messageOf, required } from "../../../../runtime/protobuf.ts";
import { invalidArgument } from "../../errors.ts";
import { blockBytes, blockIdCodec, headerBytes, noBlockId } from "../block-bytes.ts";
import type { Block, BlockStore } from "../block-store.ts";
import { fromHex } from "../merkle.ts";
import { NodeError } from "../node-error.ts";
import type { NodeService } from "../query-router.ts";
import { type NodeIdentity, protocolVersion } from "../rpc-methods/node-methods.ts";

const service = "/cosmos.base.tendermint.v1beta1.Service";

export function tendermintService(
  chainId: string,
  store: BlockStore,
  identity: NodeIdentity,
  rpcAddress: () => string,
): [path: string, NodeService][] {
  return [
    [`${service}/GetNodeInfo`, () => nodeInfo(chainId, identity, rpcAddress())],
    [`${service}/GetSyncing`, () => cosmos.GetSyncingResponse.encode({ syncing: false }).finish()],
    [`${service}/GetLatestBlock`, () => blockResponse(found(store, undefined))],
    [
      `${service}/GetBlockByHeight`,
      (request) =>
        blockResponse(found(store, BigInt(cosmos.GetBlockByHeightRequest.decode(request).height.toString()))),
    ],
  ];
}

function found(store: BlockStore, height: bigint | undefined): Block {
  if (height !== undefined && height > store.height) {
    throw invalidArgument("requested block height is bigger then the chain length");
  }
  try {
    return store.need(height);
  } catch (thrown) {
    if (thrown instanceof NodeError) throw invalidArgument(thrown.message);
    throw thrown;
  }
}

/** By hand: the generated codecs cut times to milliseconds. */
const blockResponseCodec = messageOf({
  id: required(1, blockIdCodec, noBlockId),
  block: required(2, bytes, new Uint8Array()),
  sdkBlock: required(3, bytes, new Uint8Array()),
});

function blockResponse({ id, header, txs, lastCommit }: Block): Uint8Array {
  const proposer = Buffer.from(bech32.encode("akashvalcons", bech32.toWords(fromHex(header.proposerAddress))));
  return blockResponseCodec.encode({
    id,
    block: blockBytes(headerBytes(header), txs, lastCommit),
    sdkBlock: blockBytes(headerBytes(header, proposer), txs, lastCommit),
  });
}

function nodeInfo(chainId: string, identity: NodeIdentity, rpcAddress: string): Uint8Array {
  const { id, listenAddress, version, channels, moniker } = identity;
  const response = cosmos.GetNodeInfoResponse.fromPartial({
    defaultNodeInfo: {
      protocolVersion,
      defaultNodeId: id,
      listenAddr: listenAddress,
      network: chainId,
      version,
      channels: fromHex(channels),
      moniker,
      other: { txIndex: "on", rpcAddress },
    },
    applicationVersion: { name: "akash", appName: "akash", version: "embedded" },
  });
  return cosmos.GetNodeInfoResponse.encode(response).finish();
}
