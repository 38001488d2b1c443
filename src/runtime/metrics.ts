/**
 * Metrics for Prometheus, read from plain counts when they are scraped. A label value is one of a short list of ours or a name that
 * the operator of the cluster gave, never an id, an address or a tenant's text: each would be a series for ever, or a leaked secret.
 */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { invariant } from "./invariant.ts";

/** Series of one metric; labels are short lists of ours, so more means that one is an id. */
export const metricSeries = 200;
/** Keys, tokens and phrases are longer. */
export const metricLabelChars = 48;
/** Series of one metric about nodes: 1,000 nodes with eight amounts each, and room for some more. */
export const metricClusterSeries = 10_000;
/** The longest name that Kubernetes lets a node or a storage class have. */
export const metricClusterNameChars = 253;

interface Reading<Label extends string = never> {
  /** Counters end with _total; times are in seconds, sizes in bytes. Names with provider_ are the network's own metrics. */
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly labels?: readonly Label[];
  /** Labels are names of nodes and the like, of which there are more than of ours, and longer ones. */
  readonly clusterNames?: boolean;
}

/** One number, or one for each combination of labels. */
type Values<Label extends string> = number | readonly (readonly [Readonly<Record<Label, string>>, number])[];

type Row = readonly [name: string, help: string, values: () => Values<string>, labels?: readonly string[]];

export interface Metrics {
  /** Calls `values` whenever the metrics are asked for. */
  read<Label extends string = never>(reading: Reading<Label>, values: () => Values<Label>): void;
  /** Several of one kind, with a common prefix of their names; "_total" is appended to those of counters. */
  readEach(kind: Reading["kind"], prefix: string, rows: readonly Row[]): void;
  /** The same of how often something took how long. */
  readHistogram(reading: Pick<Reading, "name" | "help">, histogram: Histogram): void;
  /** Everything, or those of these names, as Prometheus reads it. A reading that fails is left out and counted. */
  text(only?: ReadonlySet<string>): Promise<string>;
  readonly contentType: string;
  stop(): void;
}

interface Source {
  readonly reading: Omit<Reading<string>, "kind"> & { readonly kind: Reading["kind"] | "histogram" };
  /** Its lines without the beginning of their names: labels and values. */
  readonly lines: (source: Source) => Iterable<string>;
  dropped: number;
  failed: number;
}

export function createMetrics(): Metrics {
  const sources: Source[] = [];
  const eventLoop = watchEventLoop();

  function read<Label extends string>(reading: Reading<Label>, values: () => Values<Label>): void {
    add(reading, (source) => seriesLines(source, values()));
  }

  function add(reading: Source["reading"], lines: Source["lines"]): void {
    checkReading(reading);
    const isTaken = sources.some((source) => source.reading.name === reading.name);
    invariant(!isTaken, "a metric of this name has already been registered", { name: reading.name });
    sources.push({ reading, lines, dropped: 0, failed: 0 });
  }

  function readEach(kind: Reading["kind"], prefix: string, rows: readonly Row[]): void {
    const suffix = kind === "counter" ? "_total" : "";
    for (const [name, help, values, labels] of rows)
      read({ name: `${prefix}_${name}${suffix}`, help, kind, ...(labels && { labels }) }, values);
  }

  readProcess(readEach);
  const delayHelp = "Delay of the event loop since the last scrape";
  readEach("gauge", "akash_provider", [["event_loop_delay_seconds", delayHelp, eventLoop.take, ["quantile"]]]);
  // Counts up to the scrape before: sources are read in the order of registration.
  const faultsOf = (count: "dropped" | "failed") => () =>
    sources
      .filter((source) => source[count] > 0)
      .map((source) => [{ metric: source.reading.name }, source[count]] as const);
  const droppedHelp = "Series left out because a metric had too many or a label was too long";
  readEach("counter", "akash_provider_metric", [
    ["series_dropped", droppedHelp, faultsOf("dropped"), ["metric"]],
    ["read_failures", "Metrics left out because reading them failed", faultsOf("failed"), ["metric"]],
  ]);

  return {
    read,
    readEach,
    readHistogram: (reading, histogram) => add({ ...reading, kind: "histogram" }, () => histogramLines(histogram)),
    text: async (only) =>
      (only ? sources.filter(({ reading }) => only.has(reading.name)) : sources).map(render).join("\n"),
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    stop: () => eventLoop.stop(),
  };
}

function checkReading({ name, kind, labels = [] }: Source["reading"]): void {
  const isOfNetwork = name.startsWith("provider_");
  invariant(/^(?:(?:akash_)?provider|process|nodejs)(?:_[a-z0-9]+)+$/.test(name), "not a metric name of ours", {
    name,
  });
  const isNamedByKind = isOfNetwork || name.endsWith("_total") === (kind === "counter");
  invariant(isNamedByKind, "counters, and only they, end with _total", { name });
  for (const label of labels) invariant(/^[a-z][a-z0-9_]*$/.test(label), "not a label name", { name, label });
}

const ownBounds = { most: metricSeries, chars: metricLabelChars };
const clusterBounds = { most: metricClusterSeries, chars: metricClusterNameChars };

/** In Prometheus' text format. One whose reading fails has its name and help only. */
function render(source: Source): string {
  const { name, help, kind } = source.reading;
  const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${kind}`];
  try {
    for (const line of source.lines(source)) lines.push(`${name}${line}`);
  } catch {
    source.failed += 1;
    lines.length = 2;
  }
  return `${lines.join("\n")}\n`;
}

function seriesLines(source: Source, values: Values<string>): string[] {
  return Array.from(seriesOf(source, values), ([labels, value]) => `${labels} ${value}`);
}

function histogramLines({ bounds, counts, sum }: Histogram): string[] {
  const lines: string[] = [];
  let total = 0;
  for (const [index, count] of counts.entries()) {
    total += count;
    lines.push(`_bucket{le="${bounds[index] ?? "+Inf"}"} ${total}`);
  }
  return [...lines, `_sum ${sum}`, `_count ${total}`];
}

/** Samples with the same labels are summed up. */
function seriesOf(source: Source, values: Values<string>): ReadonlyMap<string, number> {
  const { reading } = source;
  const { most, chars } = reading.clusterNames ? clusterBounds : ownBounds;
  const samples = typeof values === "number" ? ([[{}, values]] as const) : values;
  const series = new Map<string, number>();
  let shown = 0;
  for (const [labels, value] of samples) {
    const text = shown < most ? labelsText(labels, reading, chars) : undefined;
    if (text === undefined) continue;
    shown += 1;
    series.set(text, (series.get(text) ?? 0) + checkedValue(value, reading));
  }
  source.dropped += samples.length - shown;
  return series;
}

/** Undefined where a value is longer than any that may be shown. */
function labelsText(
  labels: Readonly<Record<string, string>>,
  { name, labels: wanted = [] }: Source["reading"],
  chars: number,
): string | undefined {
  let pairs = "";
  for (const label of wanted) {
    const value = labels[label];
    if (value === undefined) throw new Error(`the label ${label} of ${name} has no value`);
    if (value.length > chars) return undefined;
    pairs += `${pairs && ","}${label}="${escaped(value).replaceAll('"', '\\"')}"`;
  }
  return pairs && `{${pairs}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function checkedValue(value: number, { name, kind }: Source["reading"]): number {
  if (!Number.isFinite(value) || (kind === "counter" && value < 0)) throw new Error(`${value} is no value of ${name}`);
  return value;
}

/** Node looks at the event loop this often, and reports this time on top of every delay. */
const sampleMs = 10;

function watchEventLoop() {
  const histogram = monitorEventLoopDelay({ resolution: sampleMs });
  histogram.enable();
  const delay = (nanoseconds: number) => (histogram.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - sampleMs / 1e3));
  return {
    take(): Values<"quantile"> {
      const values = [
        [{ quantile: "0.5" }, delay(histogram.percentile(50))],
        [{ quantile: "0.99" }, delay(histogram.percentile(99))],
        [{ quantile: "1" }, delay(histogram.max)],
      ] as const;
      histogram.reset();
      return values;
    },
    stop: () => histogram.disable(),
  };
}

/** The usual metrics of a Node process under their usual names, so that existing dashboards work. */
const seconds = (microseconds: number) => microseconds / 1e6;

function readProcess(readEach: Metrics["readEach"]): void {
  readEach("counter", "process_cpu", [
    ["user_seconds", "User CPU time spent", () => seconds(process.cpuUsage().user)],
    ["system_seconds", "System CPU time spent", () => seconds(process.cpuUsage().system)],
    ["seconds", "CPU time spent", cpuSeconds],
  ]);
  readEach("gauge", "process", [
    ["start_time_seconds", "When the process started, since the epoch", () => performance.timeOrigin / 1e3],
    ["resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss()],
    ["open_fds", "Open file descriptors", openFiles],
  ]);
  const externalHelp = "Memory of buffers and the like, outside the heap";
  readEach("gauge", "nodejs", [
    ["heap_size_total_bytes", "Heap reserved by V8", () => process.memoryUsage().heapTotal],
    ["heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed],
    ["external_memory_bytes", externalHelp, () => process.memoryUsage().external],
    ["active_resources", "What keeps the event loop alive", activeResources, ["type"]],
    ["version_info", "The version of Node", () => [[{ version: process.version }, 1]], ["version"]],
  ]);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return seconds(user + system);
}

/** Only Linux has this list; elsewhere the metric has no value. */
function openFiles() {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : [];
}

function activeResources() {
  return process.getActiveResourcesInfo().map((type) => [{ type }, 1] as const);
}

/** How often something took how long: counts by upper bound, as Prometheus wants them. */
interface Histogram {
  /** Upper bounds, growing; what is larger than the last is counted behind it. */
  readonly bounds: readonly number[];
  /** One more than there are bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

interface RecordedHistogram extends Histogram {
  observe(value: number): void;
}

export function createHistogram(bounds: readonly number[]): RecordedHistogram {
  const counts = new Array<number>(bounds.length + 1).fill(0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    observe(value) {
      const index = bounds.findIndex((bound) => value <= bound);
      const place = index === -1 ? bounds.length : index;
      counts[place] = (counts[place] ?? 0) + 1;
      sum += value;
    },
  };
}

/** The network's, of its durations in microseconds: from 150 ms on, each twice the one before. */
export const networkDurationBounds = Array.from({ length: 10 }, (_, power) => 150_000 * 2 ** power);
