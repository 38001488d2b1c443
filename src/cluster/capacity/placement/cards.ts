/**
 * The gpus of one node by what they are. Which cards are taken by whom nobody tells us: of what others hold we know only
 * how many, and of what we promised only what was asked for. So every taking is counted against each kind that it may have
 * hit, and what is left of a kind is what is left of it in the worst case.
 */
import { type Card, type CardDemand, cardSatisfies } from "../../../market/gpu-attributes.ts";

/** Kinds of gpus on one node: a set of them is bits of a number, and no machine has more slots. */
const nodeCardKinds = 30;

export interface CardCount {
  readonly card: Card;
  readonly count: bigint;
}

/** A set of kinds, as bits by their place in the list. */
export type Kinds = number;

export interface NodeCards {
  readonly kinds: readonly { readonly card: Card; readonly count: number }[];
  /** How many were taken that are of one of these kinds. */
  readonly takings: Map<Kinds, number>;
}

/** What there is, and how many of them are taken by nobody knows whom. */
export function cardsOf(counts: readonly CardCount[], unknown: bigint): NodeCards {
  const kinds = counts.slice(0, nodeCardKinds).map(({ card, count }) => ({ card, count: Number(count) }));
  const takings = new Map<Kinds, number>();
  if (unknown > 0n && kinds.length > 0) takings.set(allOf({ kinds }), Number(unknown));
  return { kinds, takings };
}

/** Those that will do. */
export function kindsFor({ kinds }: NodeCards, demand: CardDemand): Kinds {
  return kinds.reduce((set, { card }, at) => (cardSatisfies(card, demand) ? set | (1 << at) : set), 0);
}

/** How many are there, taken or not. */
export function countOf({ kinds }: NodeCards, set: Kinds): number {
  return kinds.reduce((sum, { count }, at) => ((set >> at) & 1 ? sum + count : sum), 0);
}

/** How many more of these can be promised without breaking what was promised before. */
export function cardsLeft(cards: NodeCards, wanted: Kinds): number {
  if (wanted === 0) return 0;
  let least = leftOf(cards, wanted);
  for (const taken of cards.takings.keys()) {
    if ((taken & wanted) === 0 || taken === wanted) continue;
    const left = leftOf(cards, taken);
    if (left < least) least = left;
  }
  return Math.max(least, 0);
}

/** A negative count gives back. */
export function takeCards({ takings }: NodeCards, set: Kinds, count: number): void {
  const taken = (takings.get(set) ?? 0) + count;
  if (taken === 0) takings.delete(set);
  else takings.set(set, taken);
}

/** So many of those that were taken by nobody knows whom are of these kinds. */
export function recogniseCards(cards: NodeCards, set: Kinds, count: number): void {
  const known = Math.min(count, cards.takings.get(allOf(cards)) ?? 0);
  if (set === 0 || known <= 0) return;
  takeCards(cards, allOf(cards), -known);
  takeCards(cards, set, known);
}

function allOf({ kinds }: Pick<NodeCards, "kinds">): Kinds {
  return (1 << kinds.length) - 1;
}

function leftOf(cards: NodeCards, set: Kinds): number {
  let left = countOf(cards, set);
  for (const [taken, count] of cards.takings) if ((taken & set) !== 0) left -= count;
  return left;
}
