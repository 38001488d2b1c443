/** Messages of tenants and providers as a client would write them, with everything filled in that a test does not care about. */
import { MsgAccountDeposit } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  MsgCreateDeployment as CreateDeployment,
  GroupSpec,
  MsgCloseDeployment,
  MsgCloseGroup,
  MsgPauseGroup,
  MsgStartGroup,
  MsgUpdateDeployment,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  MsgCreateBid as CreateBid,
  MsgCloseBid,
  MsgCloseLease,
  MsgCreateLease,
  MsgWithdrawLease,
  ResourceOffer,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  msgCreateBid,
  msgCreateDeployment,
  msgLeaseStartReclaim,
  msgLeaseStartReclaimType,
  writeId,
} from "../../src/chain/codec/wire-messages.ts";
import type { BidId, DeploymentId, GroupId, OrderId } from "../../src/market/ids.ts";
import { type Message, provider, tenant } from "./stages/market-stage.ts";

export const hash = new Uint8Array(32).fill(1);
export const deploymentId: DeploymentId = { owner: tenant, dseq: 7n };
export const groupId: GroupId = { ...deploymentId, gseq: 1 };
export const orderId: OrderId = { ...groupId, oseq: 1 };
export const bidId: BidId = { ...orderId, provider, bseq: 0 };

type SpecParts = Parameters<typeof GroupSpec.fromPartial>[0];

export function digits(value: number | bigint): { val: Uint8Array } {
  return { val: Buffer.from(value.toString()) };
}

export function unit(id: number, amount = "1000", denom = "uact") {
  return {
    resource: {
      id,
      cpu: { units: digits(50), attributes: [] },
      gpu: { units: digits(0), attributes: [] },
      memory: { quantity: digits(16 * 2 ** 20), attributes: [] },
      storage: [{ name: "default", quantity: digits(16 * 2 ** 20), attributes: [] }],
      endpoints: [{}],
    },
    count: 1,
    price: { denom, amount },
  };
}

export function spec(parts: SpecParts = {}): GroupSpec {
  const requirements = { signedBy: {}, attributes: [{ key: "region", value: "lab" }] };
  return GroupSpec.fromPartial({ name: "lab", requirements, resources: [unit(1)], ...parts });
}

export function deposit(amount: bigint, denom: string, sources: number[] = [1]) {
  return { amount: { denom, amount: amount.toString() }, sources };
}

interface CreationParts {
  id?: DeploymentId;
  groups?: GroupSpec[];
  hash?: Uint8Array;
  deposit?: ReturnType<typeof deposit>;
  minWindowNs?: bigint;
}

export function createDeployment(parts: CreationParts = {}): Message {
  const { id = deploymentId, groups = [spec()], minWindowNs } = parts;
  const known = CreateDeployment.fromPartial({
    id: writeId(id),
    hash: parts.hash ?? hash,
    deposit: parts.deposit ?? deposit(5_000_000n, "uact"),
  });
  const reclamation = minWindowNs === undefined ? undefined : { minWindowNs };
  return {
    typeUrl: "/akash.deployment.v1beta4.MsgCreateDeployment",
    value: msgCreateDeployment.encode({ ...known, groups, reclamation }),
  };
}

export function updateDeployment(newHash: Uint8Array, id = deploymentId): Message {
  const message = MsgUpdateDeployment.fromPartial({ id: writeId(id), hash: newHash });
  return {
    typeUrl: "/akash.deployment.v1beta4.MsgUpdateDeployment",
    value: MsgUpdateDeployment.encode(message).finish(),
  };
}

export function closeDeployment(id = deploymentId): Message {
  const message = MsgCloseDeployment.fromPartial({ id: writeId(id) });
  return {
    typeUrl: "/akash.deployment.v1beta4.MsgCloseDeployment",
    value: MsgCloseDeployment.encode(message).finish(),
  };
}

const groupMessages = { MsgCloseGroup, MsgPauseGroup, MsgStartGroup };

function groupMessage(name: keyof typeof groupMessages, id: GroupId): Message {
  const codec = groupMessages[name];
  return {
    typeUrl: `/akash.deployment.v1beta4.${name}`,
    value: codec.encode(codec.fromPartial({ id: writeId(id) })).finish(),
  };
}

export const closeGroup = (id = groupId): Message => groupMessage("MsgCloseGroup", id);
export const pauseGroup = (id = groupId): Message => groupMessage("MsgPauseGroup", id);
export const startGroup = (id = groupId): Message => groupMessage("MsgStartGroup", id);

interface BidParts {
  price?: { denom: string; amount: string };
  deposit?: ReturnType<typeof deposit>;
  offer?: { id: number; count: number }[];
  wireOffer?: ResourceOffer[];
  windowNs?: bigint;
}

export function createBid(id = bidId, parts: BidParts = {}): Message {
  const known = CreateBid.fromPartial({
    id: writeId(id),
    price: parts.price ?? { denom: "uact", amount: "25.1605" },
    deposit: parts.deposit ?? deposit(500_000n, "uakt"),
  });
  const offer = parts.offer ?? [{ id: 1, count: 1 }];
  const resourcesOffer =
    parts.wireOffer ?? offer.map(({ id, count }) => ResourceOffer.fromPartial({ resources: { id }, count }));
  return {
    typeUrl: "/akash.market.v1beta5.MsgCreateBid",
    value: msgCreateBid.encode({ ...known, resourcesOffer, reclamationWindowNs: parts.windowNs }),
  };
}

export function closeBid(id = bidId, reason = 10002): Message {
  const message = MsgCloseBid.fromPartial({ id: writeId(id), reason });
  return { typeUrl: "/akash.market.v1beta5.MsgCloseBid", value: MsgCloseBid.encode(message).finish() };
}

export function createLease(id = bidId): Message {
  const message = MsgCreateLease.fromPartial({ bidId: writeId(id) });
  return { typeUrl: "/akash.market.v1beta5.MsgCreateLease", value: MsgCreateLease.encode(message).finish() };
}

export function closeLease(id = bidId): Message {
  const message = MsgCloseLease.fromPartial({ id: writeId(id) });
  return { typeUrl: "/akash.market.v1beta5.MsgCloseLease", value: MsgCloseLease.encode(message).finish() };
}

export function withdrawLease(id = bidId): Message {
  const message = MsgWithdrawLease.fromPartial({ id: writeId(id) });
  return { typeUrl: "/akash.market.v1beta5.MsgWithdrawLease", value: MsgWithdrawLease.encode(message).finish() };
}

export function startReclaim(id = bidId, reason = 10001): Message {
  const lease = MsgWithdrawLease.fromPartial({ id: writeId(id) }).id;
  return { typeUrl: msgLeaseStartReclaimType, value: msgLeaseStartReclaim.encode({ id: lease, reason }) };
}

interface DepositParts {
  signer?: string;
  scope?: number;
  xid?: string;
  deposit?: ReturnType<typeof deposit>;
}

export function accountDeposit(parts: DepositParts = {}): Message {
  const message = MsgAccountDeposit.fromPartial({
    signer: parts.signer ?? tenant,
    id: { scope: parts.scope ?? 1, xid: parts.xid ?? `${deploymentId.owner}/${deploymentId.dseq}` },
    deposit: parts.deposit ?? deposit(1_000_000n, "uact"),
  });
  return { typeUrl: "/akash.escrow.v1.MsgAccountDeposit", value: MsgAccountDeposit.encode(message).finish() };
}
