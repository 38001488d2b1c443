/** Every message that a provider or a tenant sends, with the name by which the chain knows it. */
import {
  MsgAccountDeposit,
  MsgCreateCertificate,
  MsgRevokeCertificate,
} from "@akashnetwork/chain-sdk/private-types/akash.v1";
import {
  MsgCloseDeployment,
  MsgCloseGroup,
  MsgCreateProvider,
  MsgPauseGroup,
  MsgStartGroup,
  MsgUpdateDeployment,
  MsgUpdateProvider,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import {
  MsgCloseBid,
  MsgCloseLease,
  MsgCreateLease,
  MsgWithdrawLease,
} from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import { MsgSend } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { amountOf, type Coin } from "../../market/coin.ts";
import { type Codec, generated } from "../../runtime/protobuf.ts";
import { msgCreateBid, msgCreateDeployment, msgLeaseStartReclaim } from "../codec/reclamation.ts";

/** A message as a transaction carries it. */
export interface PackedMessage {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

const messages = {
  createBid: message("/akash.market.v1beta5.MsgCreateBid", msgCreateBid),
  closeBid: message("/akash.market.v1beta5.MsgCloseBid", generated(MsgCloseBid)),
  createLease: message("/akash.market.v1beta5.MsgCreateLease", generated(MsgCreateLease)),
  closeLease: message("/akash.market.v1beta5.MsgCloseLease", generated(MsgCloseLease)),
  withdrawLease: message("/akash.market.v1beta5.MsgWithdrawLease", generated(MsgWithdrawLease)),
  startReclaim: message("/akash.market.v1beta5.MsgLeaseStartReclaim", msgLeaseStartReclaim),
  createDeployment: message("/akash.deployment.v1beta4.MsgCreateDeployment", msgCreateDeployment),
  updateDeployment: message("/akash.deployment.v1beta4.MsgUpdateDeployment", generated(MsgUpdateDeployment)),
  closeDeployment: message("/akash.deployment.v1beta4.MsgCloseDeployment", generated(MsgCloseDeployment)),
  startGroup: message("/akash.deployment.v1beta4.MsgStartGroup", generated(MsgStartGroup)),
  pauseGroup: message("/akash.deployment.v1beta4.MsgPauseGroup", generated(MsgPauseGroup)),
  closeGroup: message("/akash.deployment.v1beta4.MsgCloseGroup", generated(MsgCloseGroup)),
  deposit: message("/akash.escrow.v1.MsgAccountDeposit", generated(MsgAccountDeposit)),
  createProvider: message("/akash.provider.v1beta4.MsgCreateProvider", generated(MsgCreateProvider)),
  updateProvider: message("/akash.provider.v1beta4.MsgUpdateProvider", generated(MsgUpdateProvider)),
  createCertificate: message("/akash.cert.v1.MsgCreateCertificate", generated(MsgCreateCertificate)),
  revokeCertificate: message("/akash.cert.v1.MsgRevokeCertificate", generated(MsgRevokeCertificate)),
  send: message("/cosmos.bank.v1beta1.MsgSend", generated(MsgSend)),
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

/** An amount that is none is the chain's to refuse; nothing is known of what it would cost. */
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
