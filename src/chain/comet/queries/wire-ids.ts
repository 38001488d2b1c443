/** Ids as an answer of the chain holds them. */
import type { BidID, DeploymentID, GroupID, OrderID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { parseAddress } from "../../../market/address.ts";
import type { BidId, DeploymentId, GroupId, OrderId } from "../../../market/ids.ts";
import { malformed } from "../../../market/refusal.ts";
import { readUint64 } from "../../codec/wire64.ts";

export function readDeploymentId(wire: DeploymentID | undefined): DeploymentId {
  if (!wire) throw strange("an answer without an id");
  return { owner: parseAddress(wire.owner), dseq: readUint64(wire.dseq) };
}

export function readGroupId(wire: GroupID | undefined): GroupId {
  if (!wire) throw strange("an answer without an id");
  return { ...readDeploymentId(wire), gseq: wire.gseq };
}

export function readOrderId(wire: OrderID | undefined): OrderId {
  if (!wire) throw strange("an answer without an id");
  return { ...readGroupId(wire), oseq: wire.oseq };
}

/** Also a lease's. */
export function readBidId(wire: BidID | undefined): BidId {
  if (!wire) throw strange("an answer without an id");
  return { ...readOrderId(wire), provider: parseAddress(wire.provider), bseq: wire.bseq };
}

export function strange(what: string): Error {
  return malformed(what, "an answer of the chain", "this program does not know it", "the answers of its own version");
}
