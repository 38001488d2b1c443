/** The orders of the demo's market with the provider's answer and the outcome, and active leases. */
import type { OrderLine } from "../bidengine/order-report.ts";
import { showDecCoin } from "../market/coin.ts";
import type { Palette } from "./palette.ts";
import type { StoryStatus } from "./story.ts";
import { endsText, type TenantsStatus } from "./tenants-service.ts";
import type { Workloads } from "./workloads-service.ts";

/** The provider's answer to an order. */
export type SaidToOrder = Pick<OrderLine, "verdict" | "reason" | "price">;

export interface MarketView {
  readonly tenants: TenantsStatus;
  /** Undefined before its answer. */
  readonly answerTo: (order: string) => SaidToOrder | undefined;
  /** Our own address. */
  readonly provider: string;
  readonly workloads: Workloads | undefined;
}

/** "100Gi beta3 4 cpu 16Gi" */
const resourcesColumns = 22;
/** "out of funds" */
const outcomeColumns = 12;
/** "10/10" */
const podsColumns = 5;
/** "awaited" */
const manifestColumns = 8;

/** The newest first: they are what moves. */
export function marketLines({ tenants, answerTo, provider }: MarketView, rows: number, palette: Palette): string[] {
  const head = `ORDER ${"resources".padEnd(resourcesColumns)} ${"outcome".padEnd(outcomeColumns)} answer`;
  const newest = tenants.stories.slice(-rows).reverse();
  return [
    palette.faint(endsText(tenants.ended)),
    palette.heading(head),
    ...newest.map((story) => {
      const resources = fit(story.resources, resourcesColumns);
      const outcome = outcomeOf(story, provider).padEnd(outcomeColumns);
      return `${numberOf(story)} ${resources} ${outcome} ${answerText(answerTo(story.order), palette)}`;
    }),
  ];
}

/** Active leases: ready and desired pods, and host names. */
export function leaseLines({ tenants, workloads }: MarketView, palette: Palette): string[] {
  const rows = tenants.stories.flatMap((story) => {
    const workload = story.namespace === undefined ? undefined : workloads?.of(story.namespace);
    if (!workload) return [];
    const pods = `${workload.ready}/${workload.desired}`.padEnd(podsColumns);
    const manifest = fit(story.manifest ?? "awaited", manifestColumns);
    const isUp = workload.ready === workload.desired;
    const last =
      isUp || story.error === undefined ? palette.faint(workload.hosts.join(", ")) : palette.bad(story.error);
    return [`${numberOf(story)} ${pods} ${manifest} ${last}`];
  });
  if (rows.length === 0) return [];
  const head = `LEASE ${"pods".padEnd(podsColumns)} ${"manifest".padEnd(manifestColumns)} hosts`;
  return [palette.heading(head), ...rows, ""];
}

/** One line about a story that has ended, for where nothing is drawn. */
export function storyLine(story: StoryStatus, answer: SaidToOrder | undefined): string {
  const { order, wish, resources, bids, lease, manifest, error, end } = story;
  const paid = lease ? `leased for ${showDecCoin(lease.price)} a block` : "closed";
  const sent = manifest === undefined ? "" : `, manifest ${manifest}`;
  const after = error === undefined ? "" : ` after ${error}`;
  return `${order} ${wish} (${resources}): ${answerWords(answer)}; ${bids} bids, ${paid}${sent}${after}: ${end}`;
}

/** A lease of ours that has ended is closed; the heading counts it as won. */
function outcomeOf({ end, lease }: StoryStatus, provider: string): string {
  if (end) return end === "won" ? "closed" : end;
  if (!lease) return "open";
  return lease.provider === provider ? "won" : "leased";
}

function answerText(answer: SaidToOrder | undefined, palette: Palette): string {
  if (!answer?.verdict) return palette.faint(answerWords(answer));
  // The name of the check that failed is left out: a small terminal needs the room for the reason.
  const words = answerWords({ ...answer, reason: answer.reason?.replace(/^\w+: (unit 1: )?/, "") });
  return palette[answer.verdict === "bid" ? "good" : "bad"](words);
}

function answerWords(answer: SaidToOrder | undefined): string {
  if (!answer?.verdict) return "…";
  return answer.verdict === "bid" ? `bid ${answer.price}` : `no: ${answer.reason}`;
}

/** The deployment's number: that of the order is always 1/1 here. */
function numberOf({ order }: StoryStatus): string {
  return (order.split("/")[1] ?? "").padEnd(5);
}

function fit(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text.padEnd(columns);
}
