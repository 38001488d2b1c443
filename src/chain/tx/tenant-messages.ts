/** What a tenant sends, as messages ready to be packed into a transaction. */
import { BidID, DeploymentID, Scope, Source } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { Coin } from "../../market/coin.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { type BidId, type DeploymentId, formatDeploymentId } from "../../market/ids.ts";
import { writeGroupSpec } from "../codec/group-spec.ts";
import { writeId } from "../codec/wire64.ts";
import { type PackedMessage, packMessage } from "./messages.ts";

export interface NewDeployment {
  readonly id: DeploymentId;
  readonly groups: readonly GroupSpec[];
  /** The hash of the manifest, which the provider will hold the tenant to. */
  readonly hash: Uint8Array;
  readonly deposit: Coin;
  /** How long before a reclamation the tenant wants to be told, where it agrees to any. */
  readonly reclamationWindowNs?: bigint | undefined;
}

export function createDeployment({ id, groups, hash, deposit, reclamationWindowNs }: NewDeployment): PackedMessage {
  return packMessage("createDeployment", {
    id: DeploymentID.fromPartial(writeId(id)),
    groups: groups.map(writeGroupSpec),
    hash,
    deposit: depositOf(deposit),
    reclamation: reclamationWindowNs === undefined ? undefined : { minWindowNs: reclamationWindowNs },
  });
}

export function updateDeployment(id: DeploymentId, hash: Uint8Array): PackedMessage {
  return packMessage("updateDeployment", { id: DeploymentID.fromPartial(writeId(id)), hash });
}

export function closeDeployment(id: DeploymentId): PackedMessage {
  return packMessage("closeDeployment", { id: DeploymentID.fromPartial(writeId(id)) });
}

export function createLease(bid: BidId): PackedMessage {
  return packMessage("createLease", { bidId: BidID.fromPartial(writeId(bid)) });
}

/** Adds to what a deployment pays its leases from. */
export function fundDeployment(id: DeploymentId, deposit: Coin): PackedMessage {
  return packMessage("deposit", {
    signer: id.owner,
    id: { scope: Scope.deployment, xid: formatDeploymentId(id) },
    deposit: depositOf(deposit),
  });
}

function depositOf({ denom, amount }: Coin) {
  return { amount: { denom, amount: amount.toString() }, sources: [Source.balance] };
}
