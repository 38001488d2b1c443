/** Who the node says it is. */
import { sha256 } from "./merkle.ts";

export interface NodeIdentity {
  readonly id: string;
  readonly moniker: string;
  readonly listenAddress: string;
  /** The CometBFT whose wire this node speaks. */
  readonly version: string;
  readonly channels: string;
}

export const protocolVersion = { p2p: "8", block: "11", app: "0" };

export function createIdentity(chainId: string): NodeIdentity {
  return {
    id: sha256(Buffer.from(`embedded node of ${chainId}`)).toString("hex", 0, 20),
    moniker: "embedded",
    // Nobody dials it: the embedded chain is one node. Clients want to see an address nevertheless.
    listenAddress: "tcp://127.0.0.1:26656",
    version: "0.38.19",
    channels: "40202122233038606100",
  };
}
