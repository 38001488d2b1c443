/** Every message that a provider or a tenant sends, with the name by which the chain knows it. */
import * as akash from "@akashnetwork/chain-sdk/private-types/akash.v1";
import * as beta4 from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import * as beta5 from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { MsgSend } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { Address } from "../../market/address.ts";
import { amountOf, type Coin } from "../../market/coin.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { type BidId, type DeploymentId, formatDeploymentId } from "../../market/ids.ts";
import { type Codec, type GeneratedCodec, generated } from "../../runtime/protobuf.ts";
import { writeGroupSpec } from "../codec/group-spec.ts";
import { msgCreateBid, msgCreateDeployment, msgLeaseStartReclaim, writeId } from "../codec/wire-messages.ts";

export interface PackedMessage {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const messages = {
  createBid: message("/akash.market.v1beta5.MsgCreateBid", msgCreateBid),
  closeBid: known(beta5.MsgCloseBid),
  createLease: known(beta5.MsgCreateLease),
  closeLease: known(beta5.MsgCloseLease),
  withdrawLease: known(beta5.MsgWithdrawLease),
  startReclaim: message("/akash.market.v1beta5.MsgLeaseStartReclaim", msgLeaseStartReclaim),
  createDeployment: message("/akash.deployment.v1beta4.MsgCreateDeployment", msgCreateDeployment),
  updateDeployment: known(beta4.MsgUpdateDeployment),
  closeDeployment: known(beta4.MsgCloseDeployment),
  startGroup: known(beta4.MsgStartGroup),
  pauseGroup: known(beta4.MsgPauseGroup),
  closeGroup: known(beta4.MsgCloseGroup),
  deposit: known(akash.MsgAccountDeposit),
  createProvider: known(beta4.MsgCreateProvider),
  updateProvider: known(beta4.MsgUpdateProvider),
  createCertificate: known(akash.MsgCreateCertificate),
  revokeCertificate: known(akash.MsgRevokeCertificate),
  send: known(MsgSend),
};

type Messages = typeof messages;
export type MessageKind = keyof Messages;
type MessageValue<Kind extends MessageKind> = Messages[Kind] extends Entry<infer Value> ? Value : never;

interface Entry<Value> {
  readonly typeUrl: string;
  readonly codec: Codec<Value>;
}

function message<Value>(typeUrl: string, codec: Codec<Value>): Entry<Value> {
  return { typeUrl, codec };
}

function known<Value>(codec: GeneratedCodec<Value> & { readonly $type: string }): Entry<Value> {
  return message(`/${codec.$type}`, generated(codec));
}

export function packMessage<Kind extends MessageKind>(kind: Kind, value: MessageValue<Kind>): PackedMessage {
  const { typeUrl, codec } = messages[kind] as unknown as Entry<MessageValue<Kind>>;
  return { typeUrl, value: codec.encode(value) };
}

export const messageKinds = Object.keys(messages) as MessageKind[];

export function typeOfMessage(kind: MessageKind): string {
  return messages[kind].typeUrl;
}

const kinds = new Map(messageKinds.map((kind) => [typeOfMessage(kind), kind]));

/** Undefined for a message that is not ours to send. */
export function kindOfMessage(typeUrl: string): MessageKind | undefined {
  return kinds.get(typeUrl);
}

/** What a packed message says, for people and tests. */
export function unpackMessage<Kind extends MessageKind>(kind: Kind, { value }: PackedMessage): MessageValue<Kind> {
  const { codec } = messages[kind] as unknown as Entry<MessageValue<Kind>>;
  return codec.decode(value);
}

/** What takes something from its sender's account besides the fee. */
const costly = ["createBid", "createDeployment", "deposit", "send"] as const satisfies readonly MessageKind[];
type Costly = (typeof costly)[number];

export function isCostly(kind: string): boolean {
  return (costly as readonly string[]).includes(kind);
}

function costOf(message: PackedMessage): Coin[] {
  const kind = kindOfMessage(message.typeUrl);
  return kind && isCostly(kind) ? readCost(kind as Costly, message) : [];
}

function readCost(kind: Costly, message: PackedMessage): Coin[] {
  if (kind === "send") return unpackMessage(kind, message).amount.map(coin);
  const amount = unpackMessage(kind, message).deposit?.amount;
  return amount ? [coin(amount)] : [];
}

/** An amount that is none is the chain's to reject; nothing is known of what it would cost. */
function coin({ denom, amount }: { readonly denom: string; readonly amount: string }): Coin {
  return { denom, amount: /^\d+$/.test(amount) ? BigInt(amount) : 0n };
}

/** Whether a wallet that is short of the one might still have enough for the other. */
export function mayFit(other: PackedMessage, short: PackedMessage): boolean {
  const missing = costOf(short);
  const wanted = costOf(other);
  if (missing.length === 0) return wanted.length === 0;
  return wanted.every(({ denom, amount }) => {
    const tooMuch = amountOf(missing, denom);
    return tooMuch === 0n || amount < tooMuch;
  });
}

// How an account puts a certificate on the chain, and takes it back.

/** Both as PEM; the key with the label that the chain insists on. */
export function createCertificateMessage(
  owner: Address,
  { certificate, publicKey }: { readonly certificate: string; readonly publicKey: string },
): PackedMessage {
  return packMessage("createCertificate", { owner, cert: Buffer.from(certificate), pubkey: Buffer.from(publicKey) });
}

/** `serial` in decimal digits. It can never be valid again. */
export function revokeCertificateMessage(owner: Address, serial: string): PackedMessage {
  return packMessage("revokeCertificate", { id: { owner, serial } });
}

// What a tenant sends, as messages ready to be packed into a transaction.

export interface NewDeployment {
  readonly id: DeploymentId;
  readonly groups: readonly GroupSpec[];
  /** The hash of the manifest, which the provider will hold the tenant to. */
  readonly hash: Uint8Array;
  readonly deposit: Coin;
  /** Notice period before a reclamation, where the tenant permits any. */
  readonly reclamationWindowNs?: bigint | undefined;
}

export function createDeployment({ id, groups, hash, deposit, reclamationWindowNs }: NewDeployment): PackedMessage {
  return packMessage("createDeployment", {
    id: akash.DeploymentID.fromPartial(writeId(id)),
    groups: groups.map(writeGroupSpec),
    hash,
    deposit: depositOf(deposit),
    reclamation: reclamationWindowNs === undefined ? undefined : { minWindowNs: reclamationWindowNs },
  });
}

export function updateDeployment(id: DeploymentId, hash: Uint8Array): PackedMessage {
  return packMessage("updateDeployment", { id: akash.DeploymentID.fromPartial(writeId(id)), hash });
}

export function closeDeployment(id: DeploymentId): PackedMessage {
  return packMessage("closeDeployment", { id: akash.DeploymentID.fromPartial(writeId(id)) });
}

export function createLease(bid: BidId): PackedMessage {
  return packMessage("createLease", { bidId: akash.BidID.fromPartial(writeId(bid)) });
}

/** Adds to what a deployment pays its leases from. */
export function fundDeployment(id: DeploymentId, deposit: Coin): PackedMessage {
  return packMessage("deposit", {
    signer: id.owner,
    id: { scope: akash.Scope.deployment, xid: formatDeploymentId(id) },
    deposit: depositOf(deposit),
  });
}

function depositOf({ denom, amount }: Coin) {
  return { amount: { denom, amount: amount.toString() }, sources: [akash.Source.balance] };
}
