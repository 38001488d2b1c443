/** The live view: the demo's status as lines of text. Pure, so that a test can read what a person would see. */
import type { Share } from "../operators/inventory/inventory-service.ts";
import { outcomeKinds } from "../runtime/outcome.ts";
import type { DemoStatus } from "./demo.ts";
import { leaseLines, marketLines } from "./market-view.ts";
import { moneyLines } from "./money-view.ts";
import { colors, cut, type Palette, plain } from "./palette.ts";
import { seconds } from "./seconds.ts";

interface ViewOptions {
  readonly title: string;
  /** What a person may do next. */
  readonly hints: readonly string[];
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
  /** The newest lines of the log, oldest first. */
  readonly logLines: readonly string[];
}

/** Orders fill what the rest leaves of a terminal, but never less or more than so many lines. */
const orderRows = { least: 4, most: 14 };

/** What a person may do takes ten lines, and then there is still room for what goes on. */
const rowsForHints = 40;

/** Money and market come first: they are what a person came to see. What does not fit below them is left out. */
export function renderView(status: DemoStatus, options: ViewOptions): string[] {
  const palette = options.color ? colors : plain;
  const money = status.balance ? moneyLines(status.balance, status.nowMs, palette) : [];
  const top = [...titleLines(status, options, palette), ...money];
  const leases = status.market ? leaseLines(status.market, palette) : [];
  const below = [...leases, ...clusterBlock(status, palette), ...chainBlock(status, palette)];
  const room = options.rows - top.length - below.length - 2;
  const orders = status.market
    ? [...marketLines(status.market, clamp(room, orderRows.least, orderRows.most), palette), ""]
    : [];
  const lines = [
    ...top,
    ...orders,
    ...below,
    ...eventsBlock(status, palette),
    ...servicesBlock(status, palette),
    ...queuesBlock(status, palette),
    ...topicsBlock(status, palette),
  ];
  const left = options.rows - lines.length - 1;
  const logLines = left > 0 ? options.logLines.slice(-left) : [];
  if (logLines.length > 0) lines.push(palette.heading("LOG"), ...logLines.map(palette.faint));
  return lines.slice(0, options.rows).map((line) => cut(line, options.columns));
}

function titleLines(
  { services, upMs }: DemoStatus,
  { title, hints, rows }: ViewOptions,
  { heading, faint, bad }: Palette,
): string[] {
  const waiting = services.filter(({ state }) => state !== "running").map(({ name, state }) => `${name} ${state}`);
  const states = waiting.length === 0 ? `${services.length} services running` : waiting.slice(0, 3).join(", ");
  // Where there is no room for all of them, those that lead to the others.
  const shown = rows < rowsForHints ? hints.slice(0, 2) : hints;
  const failures = services.flatMap(({ name, error }) => (error ? [bad(`${name}: ${error.message}`)] : []));
  return [`${heading(title)}  ${faint(`up ${seconds(upMs)} · ${states} · q quits`)}`, ...shown.map(faint), ...failures];
}

function servicesBlock({ services, nowMs }: DemoStatus, palette: Palette): string[] {
  const rows = services.map(({ name, state, sinceMs, detail, error }) =>
    [
      `${palette.state[state]("●")} ${name.padEnd(14)}`,
      palette.state[state](state.padEnd(9)),
      seconds(nowMs - sinceMs).padStart(7),
      `  ${error ? error.message : detail}`,
    ].join(" "),
  );
  return [palette.heading("SERVICE          state       since"), ...rows, ""];
}

function chainBlock({ chain }: DemoStatus, palette: Palette): string[] {
  if (!chain) return [];
  const { chainId, height, head, orders, bids, leases, owed, landed, failed, error } = chain;
  return [
    palette.heading(`CHAIN  ${chainId}  block ${height} of ${head ?? "?"}${error ? `  ${error}` : ""}`),
    `  open orders ${orders}, our bids ${bids}, leases ${leases}; messages: waiting ${owed}, landed ${landed}, failed ${failed}`,
    "",
  ];
}

function eventsBlock({ chain }: DemoStatus, palette: Palette): string[] {
  if (!chain || chain.events.length === 0) return [];
  return [palette.heading("EVENTS"), ...chain.events.map((line) => `  ${palette.faint(shortIds(line))}`), ""];
}

function clusterBlock({ inventory, cluster }: DemoStatus, palette: Palette): string[] {
  if (!inventory) return [];
  const columns = ["cpu", "memory", "gpu"] as const;
  const rows = inventory.nodes.map((node) => {
    const shares = columns.map((column) => shareText(node[column]).padStart(shareColumns[column]));
    return [`  ${node.name.padEnd(8)}`, ...shares, ` ${node.state.padEnd(10)}`, palette.faint(node.cards)].join(" ");
  });
  const names = columns.map((column) => column.padStart(shareColumns[column]));
  const head = palette.heading(["NODE".padEnd(10), ...names, " state"].join(" "));
  const errors = [inventory.trouble, cluster?.trouble].flatMap((text) => (text ? [`  ${text}`] : []));
  return [head, ...rows, ...promisedLine(cluster), ...errors, ""];
}

/** What bids and leases hold, which is in no snapshot of the nodes until it runs. */
function promisedLine(cluster: DemoStatus["cluster"]): string[] {
  if (!cluster) return [];
  const amounts = ["cpu", "memory", "gpu"].map((wanted) => {
    const sum = cluster.resources.find(({ resource }) => resource === wanted);
    return `${wanted} ${sum?.["reserved"] ?? 0}`;
  });
  return [`  promised: ${amounts.join(", ")}, to ${cluster.reservations} orders`];
}

/** "31750m of 128", "1015808Mi of 1Ti", "8 of 8". */
const shareColumns = { cpu: 14, memory: 17, gpu: 7 };

function shareText({ allocated, allocatable }: Share): string {
  return `${allocated} of ${allocatable}`;
}

function queuesBlock({ queues }: DemoStatus, palette: Palette): string[] {
  if (queues.length === 0) return [];
  const columns = ["ready", "running", "delayed"] as const;
  const head = [...columns, ...outcomeKinds, "refused"].map((name) => name.padStart(8)).join("");
  const rows = queues.map(({ name, counts }) => {
    const numbers = [
      ...columns.map((column) => counts[column]),
      ...outcomeKinds.map((kind) => counts.outcomes[kind]),
      counts.refused,
    ];
    return `  ${name.padEnd(14)} ${numbers.map((number) => String(number).padStart(8)).join("")}`;
  });
  return [palette.heading(`QUEUE            ${head}`), ...rows, ""];
}

function topicsBlock({ bus: topics = [] }: DemoStatus, palette: Palette): string[] {
  if (topics.length === 0) return [];
  const rows = topics.map(({ topic, published, delivered, dropped, retained }) => {
    const numbers = [published, delivered, dropped].map((number) => String(number).padStart(10)).join("");
    return `  ${topic.padEnd(34)}${numbers}  ${palette.faint(retained)}`;
  });
  const head = "BUS TOPIC                            published delivered   dropped  retained";
  return [palette.heading(head), ...rows, ""];
}

/** akash1qqqqq…qqqq/1234/1/1: enough of the owner to distinguish tenants. */
export function shortId(id: string): string {
  const [owner = "", ...rest] = id.split("/");
  return [owner.length > 16 ? `${owner.slice(0, 11)}…${owner.slice(-4)}` : owner, ...rest].join("/");
}

function shortIds(line: string): string {
  return line.replace(/akash1[a-z0-9/]+/g, shortId);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
