/** 64-bit numbers between the npm codecs and us, and the ids that hold one. */
import type { DeploymentID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { DeploymentId } from "../../market/ids.ts";

export type Wire64 = DeploymentID["dseq"];

export function readUint64(wire: Wire64 | undefined): bigint {
  return wire ? BigInt.asUintN(64, wire.toBigInt()) : 0n;
}

export function readInt64(wire: Wire64): bigint {
  return BigInt.asIntN(64, wire.toBigInt());
}

/** The codecs take whatever looks like their 64-bit number; given a bigint they would take it for a signed one. */
export function writeUint64(value: bigint): Wire64 {
  const [low, high] = [Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n))];
  return { low, high, unsigned: true } as Wire64;
}

/** For `fromPartial` of the codec of this id. */
export function writeId<Id extends DeploymentId>(id: Id): Omit<Id, "dseq"> & { dseq: Wire64 } {
  return { ...id, dseq: writeUint64(id.dseq) };
}
