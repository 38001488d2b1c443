/** The names of things on the market: read from the wire as the chain checks them, and as keys of tables. */
import type { BidID, DeploymentID, GroupID, OrderID } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { readUint64 } from "../../chain/codec/wire-messages.ts";
import type { BidId, DeploymentId, GroupId, OrderId } from "../../market/ids.ts";
import { checkedAddress, invalidArgument, sdkError } from "./errors.ts";

/** `path` says inside of which id this one stands; the chain writes it in front of the fault. */
export function readDeploymentId(wire: DeploymentID | undefined, path = ""): DeploymentId {
  const invalidAddress = () => sdkError("invalidAddress", `${path}DeploymentID: Invalid Owner Address`);
  const owner = checkedAddress(wire?.owner ?? "", invalidAddress);
  const dseq = readUint64(wire?.dseq);
  if (dseq === 0n) throw sdkError("invalidSequence", `${path}DeploymentID: Invalid Deployment Sequence`);
  return { owner, dseq };
}

export function readGroupId(wire: GroupID | undefined, path = ""): GroupId {
  const id = readDeploymentId(wire, `${path}GroupID: Invalid DeploymentID: `);
  if (!wire?.gseq) throw sdkError("invalidSequence", `${path}GroupID: Invalid Group Sequence`);
  return { ...id, gseq: wire.gseq };
}

function readOrderId(wire: OrderID | undefined, path = ""): OrderId {
  const id = readGroupId(wire, `${path}OrderID: Invalid GroupID: `);
  if (!wire?.oseq) throw sdkError("invalidSequence", `${path}OrderID: Invalid Order Sequence`);
  return { ...id, oseq: wire.oseq };
}

/** Also reads a lease's, which has the same fields; its path is leasePath. */
export function readBidId(wire: BidID | undefined, path = ""): BidId {
  const id = readOrderId(wire, `${path}BidID: Invalid OrderID: `);
  const invalidAddress = () => sdkError("invalidAddress", `${path}BidID: Invalid Provider Address`);
  const provider = checkedAddress(wire?.provider ?? "", invalidAddress);
  if (provider === id.owner) throw sdkError("conflict", `${path}BidID: self-bid`);
  if (wire?.bseq) throw sdkError("conflict", `${path}BidID: invalid bseq`);
  return { ...id, provider, bseq: 0 };
}

export const leasePath = "LeaseID: Invalid BidID: ";

/** Where a query names one thing. The chain checks the addresses only; numbers that name nothing find nothing. */
export function readQueriedId(wire: Partial<BidID> | undefined): BidId {
  const { gseq = 0, oseq = 0, bseq = 0 } = wire ?? {};
  const owner = checkedAddress(wire?.owner ?? "", () => invalidArgument("invalid owner address"));
  const dseq = readUint64(wire?.dseq);
  // Queries for deployments, groups and orders have no provider and ignore this one.
  const provider = checkedAddress(wire?.provider ?? owner, () => invalidArgument("invalid provider address"));
  return { owner, dseq, gseq, oseq, provider, bseq };
}

/** Keys sort as in the chain's own store: owners as text, numbers by value. */
export function deploymentKey({ owner, dseq }: DeploymentId): string {
  return `${owner}/${padded(dseq, digitsOfUint64)}`;
}

export function groupKey(id: GroupId): string {
  return `${deploymentKey(id)}/${padded(id.gseq, digitsOfUint32)}`;
}

export function orderKey(id: OrderId): string {
  return `${groupKey(id)}/${padded(id.oseq, digitsOfUint32)}`;
}

export function bidKey(id: BidId): string {
  return `${orderKey(id)}/${id.provider}`;
}

const digitsOfUint64 = 20;
const digitsOfUint32 = 10;

function padded(value: bigint | number, digits: number): string {
  return value.toString().padStart(digits, "0");
}

/** The key in the bytes of the chain's store, which clients see inside of page keys. */
export function keyToBytes(key: string): Uint8Array {
  const [owner = "", dseq = "0", gseq, oseq, provider] = key.split("/");
  const parts = [terminated(owner), bigEndian(dseq, 8)];
  if (gseq !== undefined) parts.push(bigEndian(gseq, 4));
  if (oseq !== undefined) parts.push(bigEndian(oseq, 4));
  if (provider !== undefined) parts.push(terminated(provider), bigEndian("0", 4));
  return Buffer.concat(parts);
}

export function keyOfBytes(bytes: Uint8Array): string {
  const all = Buffer.from(bytes);
  const end = all.indexOf(0);
  const numbers = all.subarray(end + 1);
  if (end < 0 || numbers.length < 8) throw invalidArgument("malformed key");
  const parts = [all.subarray(0, end).toString(), padded(numbers.readBigUInt64BE(), digitsOfUint64)];
  for (let at = 8; at < 16 && numbers.length >= at + 4; at += 4) {
    parts.push(padded(numbers.readUInt32BE(at), digitsOfUint32));
  }
  const provider = numbers.subarray(16);
  if (provider.length > 0) parts.push(provider.subarray(0, Math.max(0, provider.indexOf(0))).toString());
  return parts.join("/");
}

function terminated(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function bigEndian(value: string, bytes: 4 | 8): Buffer {
  return Buffer.from(
    BigInt(value)
      .toString(16)
      .padStart(bytes * 2, "0"),
    "hex",
  );
}
