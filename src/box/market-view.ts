/** The orders of the demo's market, each with what the provider said to it and what became of it. */
import { showDecCoin } from "../market/coin.ts";
import type { Palette } from "./palette.ts";
import { endsText, type StoryDocument, type TenantsDocument } from "./tenants-service.ts";

/** What the provider said to an order. */
export type OrderAnswer =
  | { readonly verdict: "bid"; readonly price: string }
  | { readonly verdict: "no"; readonly check: string; readonly reason: string };

export interface MarketView {
  readonly tenants: TenantsDocument;
  /** Undefined while it has not said anything yet. */
  readonly answerTo: (order: string) => OrderAnswer | undefined;
  /** Our own address. */
  readonly provider: string;
}

const askedColumns = 25;

/** The newest first: they are what moves. */
export function marketLines({ tenants, answerTo, provider }: MarketView, rows: number, palette: Palette): string[] {
  const head = `ORDER ${"asks for".padEnd(askedColumns)} ${"outcome".padEnd(7)}  answer  ${endsText(tenants.ended)}`;
  const newest = tenants.stories.slice(-rows).reverse();
  return [
    palette.heading(head),
    ...newest.map((story) => {
      const asked = fit(story.asked, askedColumns);
      const outcome = outcomeOf(story, provider).padEnd(7);
      return `${numberOf(story)} ${asked} ${outcome}  ${answerText(answerTo(story.order), palette)}`;
    }),
  ];
}

/** One line about a story that has ended, for where nothing is drawn. */
export function storyLine(story: StoryDocument, answer: OrderAnswer | undefined): string {
  const { order, wish, asked, bids, lease, end } = story;
  const paid = lease ? `leased for ${showDecCoin(lease.price)} a block` : "closed";
  return `${order} ${wish} (${asked}): ${answerWords(answer)}; ${bids} bids, ${paid}: ${end}`;
}

export function outcomeOf({ end, lease }: StoryDocument, provider: string): string {
  if (end) return end === "won" ? "closed" : end;
  if (!lease) return "open";
  return lease.provider === provider ? "won" : "lost";
}

function answerText(answer: OrderAnswer | undefined, palette: Palette): string {
  if (!answer) return palette.faint(answerWords(answer));
  return palette[answer.verdict === "bid" ? "good" : "bad"](answerWords(answer));
}

function answerWords(answer: OrderAnswer | undefined): string {
  if (!answer) return "…";
  return answer.verdict === "bid" ? `bid ${answer.price}` : `no: ${answer.check}: ${answer.reason}`;
}

/** The deployment's number: that of the order is always 1/1 here. */
function numberOf({ order }: StoryDocument): string {
  return (order.split("/")[1] ?? "").padEnd(5);
}

function fit(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text.padEnd(columns);
}
