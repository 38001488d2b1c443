/**
 * Metrics for Prometheus. Most modules know nothing of them: they expose plain counts, and the front file of their
 * service says in `measure` how to read those when somebody asks.
 *
 * A label value is one of a short list of ours (a topic, an outcome, a state), or a name that the operator of the cluster
 * gave: a node, a storage class, the model of a GPU. Never an id, an address, a hostname or anything a tenant chose: each
 * would be a series of its own for ever, and a place for a secret to show up.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Registry } from "prom-client";
import { invariant } from "./invariant.ts";
import { limits } from "./limits.ts";
import { readProcess } from "./process-metrics.ts";

export interface Reading<Label extends string = never> {
  /** Like akash_provider_queue_depth; counters end with _total, times are in seconds, sizes in bytes. */
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly labels?: readonly Label[];
  /** Labels are names of nodes and the like, of which there are more than of ours, and longer ones. */
  readonly clusterNames?: boolean;
}

/** One number, or one for each combination of labels. */
export type Values<Label extends string> = number | readonly (readonly [Readonly<Record<Label, string>>, number])[];

export interface Metrics {
  /** Calls `values` whenever the metrics are asked for. */
  read<Label extends string = never>(reading: Reading<Label>, values: () => Values<Label>): void;
  /** Everything, as Prometheus reads it. A reading that fails is left out and counted; the others are there. */
  text(): Promise<string>;
  readonly contentType: string;
  stop(): void;
}

interface Source {
  readonly reading: Reading<string>;
  readonly metric: Counter | Gauge;
  readonly values: () => Values<string>;
  dropped: number;
  failed: number;
}

export function createMetrics(): Metrics {
  // A registry of our own: what other code puts into prom-client's global one is not ours to publish.
  const registry = new Registry();
  const sources: Source[] = [];
  const eventLoop = watchEventLoop();

  function read<Label extends string>(reading: Reading<Label>, values: () => Values<Label>): void {
    checkReading(reading);
    const { name, help, labels = [] } = reading;
    const config = { name, help, labelNames: labels, registers: [registry] };
    const metric = reading.kind === "counter" ? new Counter(config) : new Gauge(config);
    sources.push({ reading, metric, values, dropped: 0, failed: 0 });
  }

  readProcess(read);
  read(
    {
      name: "akash_provider_event_loop_delay_seconds",
      help: "Delay of the event loop since the last scrape",
      kind: "gauge",
      labels: ["quantile"],
    },
    () => eventLoop.take(),
  );
  // These two tell what went wrong the time before: every source is read once, in the order of registration.
  const faultsOf = (count: "dropped" | "failed") => () =>
    sources
      .filter((source) => source[count] > 0)
      .map((source) => [{ metric: source.reading.name }, source[count]] as const);
  read(
    {
      name: "akash_provider_metric_series_dropped_total",
      help: "Series left out because a metric had too many or a label was too long",
      kind: "counter",
      labels: ["metric"],
    },
    faultsOf("dropped"),
  );
  read(
    {
      name: "akash_provider_metric_read_failures_total",
      help: "Metrics left out because reading them failed",
      kind: "counter",
      labels: ["metric"],
    },
    faultsOf("failed"),
  );

  return {
    read,
    text() {
      for (const source of sources) fill(source);
      return registry.metrics();
    },
    contentType: registry.contentType,
    stop: () => eventLoop.stop(),
  };
}

function checkReading({ name, kind, labels = [] }: Reading<string>): void {
  invariant(/^(?:akash_provider|process|nodejs)(?:_[a-z0-9]+)+$/.test(name), "not a metric name of ours", { name });
  invariant(name.endsWith("_total") === (kind === "counter"), "counters, and only they, end with _total", { name });
  for (const label of labels) invariant(/^[a-z][a-z0-9_]*$/.test(label), "not a label name", { name, label });
}

const ownBounds = { most: limits.metricSeries, chars: limits.metricLabelChars };
const clusterBounds = { most: limits.metricClusterSeries, chars: limits.metricClusterNameChars };

/** A counter cannot be set, only grown; so it begins at nothing each time and grows by all there is. */
function fill(source: Source): void {
  const { metric } = source;
  metric.reset();
  try {
    const values = source.values();
    const series = typeof values === "number" ? ([[{}, values]] as const) : values;
    const { most, chars } = source.reading.clusterNames ? clusterBounds : ownBounds;
    const isShort = (value: string) => value.length <= chars;
    const shown = series.filter(([labels]) => Object.values(labels).every(isShort)).slice(0, most);
    source.dropped += series.length - shown.length;
    if (shown.length === 0) leaveOut(source);
    for (const [labels, value] of shown) metric.inc(checkedLabels(labels, source.reading), checkedValue(value));
  } catch {
    source.failed += 1;
    leaveOut(source);
  }
}

/** No series at all: without labels, a reset one would still say 0. */
function leaveOut({ metric, reading }: Source): void {
  metric.reset();
  if (!reading.labels?.length) metric.remove();
}

/** prom-client takes a missing label for one that does not apply; here it is a mistake. */
function checkedLabels(labels: Readonly<Record<string, string>>, { name, labels: wanted = [] }: Reading<string>) {
  invariant(
    wanted.every((label) => typeof labels[label] === "string"),
    "a label has no value",
    { name },
  );
  return labels;
}

function checkedValue(value: number): number {
  invariant(Number.isFinite(value), "not a number", { value });
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
