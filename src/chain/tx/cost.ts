/** What a message takes from its sender's account besides the fee. */
import { amountOf, type Coin } from "../../market/coin.ts";
import { kindOfMessage, type MessageKind, type PackedMessage, unpackMessage } from "./messages.ts";

const costly = ["createBid", "createDeployment", "deposit", "send"] as const satisfies readonly MessageKind[];
type Costly = (typeof costly)[number];

export function isCostly(kind: string): boolean {
  return (costly as readonly string[]).includes(kind);
}

export function costOf(message: PackedMessage): Coin[] {
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
