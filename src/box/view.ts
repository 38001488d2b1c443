/** The live view: the demo's status as lines of text. Pure, so that a test can read what a person would see. */
import type { Share } from "../operators/inventory/cluster-view.ts";
import type { ServiceState } from "../runtime/lifecycle.ts";
import { outcomeKinds } from "../runtime/outcome.ts";
import type { DemoStatus } from "./demo.ts";

interface ViewOptions {
  readonly title: string;
  readonly columns: number;
  readonly rows: number;
  readonly color: boolean;
  /** The newest lines of the log, oldest first. */
  readonly logLines: readonly string[];
}

type Paint = (text: string) => string;

interface Palette {
  readonly heading: Paint;
  readonly faint: Paint;
  readonly state: Record<ServiceState, Paint>;
}

export function renderView(status: DemoStatus, options: ViewOptions): string[] {
  const palette = options.color ? colors : plain;
  const lines = [
    `${palette.heading(options.title)}  ${palette.faint(`up ${seconds(status.upMs)} · q quits`)}`,
    "",
    ...servicesBlock(status, palette),
    ...chainBlock(status, palette),
    ...clusterBlock(status, palette),
    ...queuesBlock(status, palette),
    ...topicsBlock(status, palette),
    ...storiesBlock(status, palette),
  ];
  const room = options.rows - lines.length - 1;
  const logLines = room > 0 ? options.logLines.slice(-room) : [];
  if (logLines.length > 0) lines.push(palette.heading("LOG"), ...logLines.map(palette.faint));
  return lines.slice(0, options.rows).map((line) => cut(line, options.columns));
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
  const { chainId, height, head, orders, bids, leases, owed, landed, failed, trouble, events } = chain;
  return [
    palette.heading(`CHAIN  ${chainId}  block ${height} of ${head ?? "?"}${trouble ? `  ${trouble}` : ""}`),
    `  open orders ${orders}  our bids ${bids}  our leases ${leases}  transactions: waiting ${owed} landed ${landed} failed ${failed}`,
    ...events.map((line) => `  ${palette.faint(shortIds(line))}`),
    "",
  ];
}

function clusterBlock({ inventory }: DemoStatus, palette: Palette): string[] {
  if (!inventory) return [];
  const rows = inventory.nodes.map(({ name, state, cpu, memory, gpu, cards }) =>
    [`  ${name.padEnd(14)}`, ...[cpu, memory, gpu].map(shareText), ` ${state.padEnd(10)}`, palette.faint(cards)].join(
      " ",
    ),
  );
  const columns = ["cpu", "memory", "gpu"].map((name) => name.padStart(shareColumns));
  const head = palette.heading(["NODE".padEnd(16), ...columns, " state"].join(" "));
  return [head, ...rows, ...(inventory.trouble ? [`  ${inventory.trouble}`] : []), ""];
}

/** "31750m of 128000m" and a little more. */
const shareColumns = 19;

function shareText({ allocated, allocatable }: Share): string {
  return `${allocated} of ${allocatable}`.padStart(shareColumns);
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

function storiesBlock({ tenants }: DemoStatus, palette: Palette): string[] {
  if (!tenants || tenants.stories.length === 0) return [];
  const rows = tenants.stories.map(({ deployment, stations, complete }) => {
    const first = stations[0]?.atMs ?? 0;
    const path = stations.map(({ name, atMs }) => `${name}${palette.faint(` +${tenths(atMs - first)} s`)}`).join(" → ");
    return `${complete ? palette.state.running("✔") : palette.state.init("…")} ${shortId(deployment)}  ${path}`;
  });
  return [palette.heading(`STORIES  ${tenants.complete} complete`), ...rows, ""];
}

/** akash1qqqqq…qqqq/1234/1/1: enough of the owner to tell tenants apart. */
export function shortId(id: string): string {
  const [owner = "", ...rest] = id.split("/");
  return [owner.length > 16 ? `${owner.slice(0, 11)}…${owner.slice(-4)}` : owner, ...rest].join("/");
}

function shortIds(line: string): string {
  return line.replace(/akash1[a-z0-9/]+/g, shortId);
}

function tenths(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

export function seconds(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1_000));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} m`;
}

/** Cuts to the width of the terminal, not counting colour codes, and ends any colour that was cut open. */
function cut(line: string, columns: number): string {
  let width = 0;
  let result = "";
  for (const part of line.match(colorCodeOrCharacter) ?? []) {
    if (part.startsWith(escapeCharacter)) {
      result += part;
    } else if (width < columns) {
      result += part;
      width += 1;
    }
  }
  return result;
}

const escapeCharacter = "\u001b";
const colorCodeOrCharacter = new RegExp(`${escapeCharacter}\\[[0-9;]*m|.`, "gu");

const same: Paint = (text) => text;
const paint =
  (code: number): Paint =>
  (text) =>
    `${escapeCharacter}[${code}m${text}${escapeCharacter}[0m`;

const plain: Palette = {
  heading: same,
  faint: same,
  state: { init: same, running: same, shutdown: same, done: same },
};

const colors: Palette = {
  heading: paint(1),
  faint: paint(2),
  state: { init: paint(33), running: paint(32), shutdown: paint(33), done: paint(90) },
};
