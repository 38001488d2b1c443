/** Methods about the node itself and its application. */

import { timeJson } from "../../context.ts";
import type { Block } from "../block-store.ts";
import type { BoxChain } from "../chain.ts";
import { base64, consensusParamsJson, publicKeyJson, queryJson } from "../encoding.ts";
import { sha256 } from "../merkle.ts";
import type { QueryRouter } from "../query-router.ts";
import { type Methods, method } from "./method.ts";

export type NodeIdentity = ReturnType<typeof createIdentity>;

export const protocolVersion = { p2p: "8", block: "11", app: "0" };

/** The node info of the status. */
export function createIdentity(chainId: string) {
  return {
    id: sha256(Buffer.from(`embedded node of ${chainId}`)).toString("hex", 0, 20),
    moniker: "embedded",
    // The embedded chain has no peers, but clients expect an address.
    listenAddress: "tcp://127.0.0.1:26656",
    /** The CometBFT whose wire this node speaks. */
    version: "0.38.19",
    channels: "40202122233038606100",
  };
}

interface NodeFacts {
  readonly chain: BoxChain;
  readonly queries: QueryRouter;
  readonly identity: NodeIdentity;
  /** Known once the server listens. */
  readonly rpcAddress: () => string;
}

export function nodeMethods(facts: NodeFacts): Methods {
  const { chain, queries } = facts;
  const { app } = chain;
  return {
    health: method({}, () => ({})),
    status: method({}, () => status(facts)),
    net_info: method({}, () => ({
      listening: true,
      listeners: [`Listener(@${facts.identity.listenAddress})`],
      n_peers: "0",
      peers: [],
    })),
    genesis: method({}, () => ({ genesis: genesisJson(chain) })),
    abci_info: method({}, () => ({
      response: {
        data: "akash",
        ...(app.height > 0n && { last_block_height: `${app.height}` }),
        ...(app.appHash.length > 0 && { last_block_app_hash: base64(app.appHash) }),
      },
    })),
    abci_query: method(
      { path: "text", data: "hex", height: "int64", prove: "flag" },
      // Proofs would need a tree over the state; a chain on one machine needs none.
      ({ path, data, height }) => ({ response: queryJson(queries.overAbci(path, data, height ?? 0n)) }),
    ),
    akash: method({}, () => clientInfo(app.chainId)),
  };
}

function status({ chain, identity, rpcAddress }: NodeFacts): unknown {
  const { app, store, validator } = chain;
  return {
    node_info: {
      protocol_version: protocolVersion,
      id: identity.id,
      listen_addr: identity.listenAddress,
      network: app.chainId,
      version: identity.version,
      channels: identity.channels,
      moniker: identity.moniker,
      other: { tx_index: "on", rpc_address: rpcAddress() },
    },
    sync_info: {
      ...boundary("latest", store.latest),
      ...boundary("earliest", store.at(store.lowest)),
      catching_up: false,
    },
    validator_info: {
      address: validator.address,
      pub_key: publicKeyJson(validator.publicKey),
      voting_power: `${validator.power}`,
    },
  };
}

function boundary(which: "latest" | "earliest", block: Block | undefined): Record<string, string> {
  return {
    [`${which}_block_hash`]: block?.id.hash ?? "",
    [`${which}_app_hash`]: block?.header.appHash ?? "",
    [`${which}_block_height`]: `${block?.header.height ?? 0n}`,
    [`${which}_block_time`]: timeJson(block?.header.timeNs ?? 0n),
  };
}

function genesisJson({ origin, validator }: BoxChain): unknown {
  const { address, publicKey, power } = validator;
  return {
    genesis_time: timeJson(origin.timeNs),
    chain_id: origin.chainId,
    initial_height: `${origin.initialHeight}`,
    consensus_params: consensusParamsJson,
    validators: [{ address, pub_key: publicKeyJson(publicKey), power: `${power}`, name: "" }],
    app_hash: "",
    app_state: origin.state,
  };
}

/** Protocol versions of this chain, for clients that support several. */
function clientInfo(chainId: string): unknown {
  const modules = Object.entries({
    audit: "v1",
    bme: "v1",
    cert: "v1",
    deployment: "v1beta4",
    escrow: "v1",
    market: "v1beta5",
    oracle: "v2",
    provider: "v1beta4",
    take: "v1",
    wasm: "v1",
  }).map(([module, version]) => ({ module, version }));
  return {
    client_info: { api_version: "v1beta3" },
    supported_versions: ["v1beta4", "v1beta3"].map((api_version) => ({ api_version, modules, features: null })),
    chain_id: chainId,
    node_version: "",
    min_client_version: "",
  };
}
