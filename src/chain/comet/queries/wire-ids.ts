/** Ids and 64-bit numbers between the codecs and us. */
import type { BidID, DeploymentID, GroupID, OrderID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { parseAddress } from "../../../market/address.ts";
import type { BidId, DeploymentId, GroupId, OrderId } from "../../../market/ids.ts";
import { malformed } from "../../../market/refusal.ts";

type Wire64 = DeploymentID["dseq"];

export function readUint64(wire: Wire64): bigint {
  return BigInt.asUintN(64, wire.toBigInt());
}

export function readInt64(wire: Wire64): bigint {
  return BigInt.asIntN(64, wire.toBigInt());
}

/** The codecs take whatever looks like their 64-bit number; given a bigint they would take it for a signed one. */
export function writeUint64(value: bigint): Wire64 {
  const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))];
  return { low, high, unsigned: true } as Wire64;
}

export function writeId<Id extends DeploymentId>(id: Id): Omit<Id, "dseq"> & { dseq: Wire64 } {
  return { ...id, dseq: writeUint64(id.dseq) };
}

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
