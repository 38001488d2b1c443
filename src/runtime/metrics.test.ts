import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import {
  createHistogram,
  createMetrics,
  type Metrics,
  metricClusterNameChars,
  metricClusterSeries,
  metricLabelChars,
  metricSeries,
  networkDurationBounds,
} from "./metrics.ts";

function metricsFor(t: TestContext): Metrics {
  const metrics = createMetrics();
  t.after(() => metrics.stop());
  return metrics;
}

/** The lines of one metric, without its help. */
async function linesOf(metrics: Metrics, name: string): Promise<string[]> {
  const lines = (await metrics.text()).split("\n");
  return lines.filter((line) => line.startsWith(`# TYPE ${name} `) || new RegExp(`^${name}[ {]`).test(line));
}

test("a plain count is read each time it is asked for, as a counter or a gauge", async (t) => {
  const metrics = metricsFor(t);
  let count = 0;
  metrics.read({ name: "akash_provider_things_total", help: "Things", kind: "counter" }, () => count);
  metrics.read({ name: "akash_provider_depth", help: "Depth", kind: "gauge" }, () => -count);
  for (count of [0, 5, 7, 3]) {
    assert.deepEqual(await linesOf(metrics, "akash_provider_things_total"), [
      "# TYPE akash_provider_things_total counter",
      `akash_provider_things_total ${count}`,
    ]);
    assert.deepEqual(await linesOf(metrics, "akash_provider_depth"), [
      "# TYPE akash_provider_depth gauge",
      `akash_provider_depth ${count === 0 ? 0 : -count}`,
    ]);
  }
  assert.match(await metrics.text(), /^# HELP akash_provider_depth Depth$/m);
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});

test("series with labels come and go with what is read", async (t) => {
  const metrics = metricsFor(t);
  let outcomes: [{ queue: string; outcome: string }, number][] = [[{ queue: "orders", outcome: "done" }, 2]];
  metrics.read(
    { name: "akash_provider_outcomes_total", help: "Outcomes", kind: "counter", labels: ["queue", "outcome"] },
    () => outcomes,
  );
  const values = async () => (await linesOf(metrics, "akash_provider_outcomes_total")).slice(1);
  assert.deepEqual(await values(), ['akash_provider_outcomes_total{queue="orders",outcome="done"} 2']);
  outcomes = [[{ queue: 'le"ases\n', outcome: "failed" }, 1]];
  assert.deepEqual(await values(), ['akash_provider_outcomes_total{queue="le\\"ases\\n",outcome="failed"} 1']);
  outcomes = [];
  assert.deepEqual(await values(), []);
});

test("what is told of the same labels twice is one series with the sum of it", async (t) => {
  const metrics = metricsFor(t);
  const reading = { name: "akash_provider_twice", help: "A \\ and\na line", kind: "gauge", labels: ["a"] } as const;
  metrics.read(reading, () => [
    [{ a: "\\" }, 1],
    [{ a: "\\" }, 2],
  ]);
  assert.deepEqual((await linesOf(metrics, reading.name)).slice(1), ['akash_provider_twice{a="\\\\"} 3']);
  assert.ok((await metrics.text()).includes("# HELP akash_provider_twice A \\\\ and\\na line\n"));
});

test("a reading that fails is left out and counted, the others are there", async (t) => {
  const metrics = metricsFor(t);
  const bad: (() => number)[] = [
    () => {
      throw new Error("no");
    },
    () => Number.NaN,
    () => -1,
  ];
  for (const [index, read] of bad.entries()) {
    metrics.read({ name: `akash_provider_bad${index}_total`, help: "Bad", kind: "counter" }, read);
  }
  const half = { name: "akash_provider_half", help: "Half", kind: "gauge", labels: ["a"] } as const;
  metrics.read(half, () => [
    [{ a: "x" }, 1],
    [{} as { a: string }, 2],
  ]);
  metrics.read({ name: "akash_provider_good", help: "Good", kind: "gauge" }, () => 1);
  await metrics.text();
  assert.deepEqual(await linesOf(metrics, "akash_provider_good"), [
    "# TYPE akash_provider_good gauge",
    "akash_provider_good 1",
  ]);
  for (const name of [
    "akash_provider_bad0_total",
    "akash_provider_bad1_total",
    "akash_provider_bad2_total",
    half.name,
  ]) {
    assert.equal((await linesOf(metrics, name)).length, 1, "only its type");
    const failures = await linesOf(metrics, "akash_provider_metric_read_failures_total");
    assert.ok(
      failures.some((line) => line.includes(`{metric="${name}"}`)),
      failures.join("\n"),
    );
  }
});

test("series beyond the bound and labels that are no names of ours are dropped and counted", async (t) => {
  const metrics = metricsFor(t);
  const many = Array.from({ length: metricSeries + 5 }, (_, index) => [{ id: `n${index}` }, 1] as const);
  metrics.read({ name: "akash_provider_many", help: "Many", kind: "gauge", labels: ["id"] }, () => many);
  const long = "x".repeat(metricLabelChars + 1);
  metrics.read({ name: "akash_provider_long", help: "Long", kind: "gauge", labels: ["id"] }, () => [[{ id: long }, 1]]);
  await metrics.text();
  const text = await metrics.text();
  assert.equal(text.match(/^akash_provider_many\{/gm)?.length, metricSeries);
  assert.equal(text.includes(long), false);
  assert.match(text, /^akash_provider_metric_series_dropped_total\{metric="akash_provider_many"\} 5$/m);
  assert.match(text, /^akash_provider_metric_series_dropped_total\{metric="akash_provider_long"\} 1$/m);
});

test("names from the cluster may be more and longer than ours, and are bounded too", async (t) => {
  const metrics = metricsFor(t);
  const longest = "n".repeat(metricClusterNameChars);
  const nodes = Array.from({ length: metricClusterSeries - 1 }, (_, index) => `node-${index}`);
  const names = [`${longest}n`, longest, ...nodes, "one-too-many"];
  const reading = { help: "Nodes", kind: "gauge", labels: ["node"], clusterNames: true } as const;
  metrics.read({ ...reading, name: "akash_provider_of_nodes" }, () => names.map((node) => [{ node }, 1]));
  await metrics.text();
  const text = await metrics.text();
  assert.equal(text.match(/^akash_provider_of_nodes\{/gm)?.length, metricClusterSeries);
  assert.ok(text.includes(`{node="${longest}"} 1`));
  assert.match(text, /^akash_provider_metric_series_dropped_total\{metric="akash_provider_of_nodes"\} 2$/m);
});

test("a name that is not ours, misleads or is taken is rejected", (t) => {
  const metrics = metricsFor(t);
  const read = (name: string, kind: "counter" | "gauge" = "gauge", labels: string[] = []) =>
    metrics.read({ name, help: "x", kind, labels }, () => (labels.length > 0 ? [] : 1));
  read("akash_provider_taken");
  assert.throws(() => read("akash_provider_taken"), /already been registered/);
  assert.throws(() => read("depth"), /not a metric name of ours/);
  assert.throws(() => read("akash_provider_Depth"), /not a metric name of ours/);
  assert.throws(() => read("akash_provider_x_"), /not a metric name of ours/);
  assert.throws(() => read("akash_provider_x", "counter"), /end with _total/);
  assert.throws(() => read("akash_provider_x_total", "gauge"), /end with _total/);
  assert.throws(() => read("akash_provider_x", "gauge", ["a-b"]), /not a label name/);
});

test("the network's metrics keep their names, whatever these end with", async (t) => {
  const metrics = metricsFor(t);
  metrics.read({ name: "provider_bid", help: "Bids", kind: "counter" }, () => 2);
  metrics.read({ name: "provider_inventory_available_total", help: "Free", kind: "gauge" }, () => 3);
  assert.deepEqual(await linesOf(metrics, "provider_bid"), ["# TYPE provider_bid counter", "provider_bid 2"]);
  const free = await linesOf(metrics, "provider_inventory_available_total");
  assert.equal(free[0], "# TYPE provider_inventory_available_total gauge");
});

test("a histogram is told with the sums of its buckets", async (t) => {
  const metrics = metricsFor(t);
  const histogram = createHistogram([10, 20]);
  metrics.readHistogram({ name: "provider_reservation_duration", help: "Reserving" }, histogram);
  for (const value of [1, 10, 11, 21, 500]) histogram.observe(value);
  const text = await metrics.text();
  assert.ok(
    text.includes(`# TYPE provider_reservation_duration histogram
provider_reservation_duration_bucket{le="10"} 2
provider_reservation_duration_bucket{le="20"} 3
provider_reservation_duration_bucket{le="+Inf"} 5
provider_reservation_duration_sum 543
provider_reservation_duration_count 5
`),
    text,
  );
  assert.deepEqual([networkDurationBounds.at(0), networkDurationBounds.at(-1)], [150_000, 76_800_000]);
});

test("the delay of the event loop is that since the last time it was asked for", async (t) => {
  const metrics = metricsFor(t);
  const delays = async () => {
    const lines = (await linesOf(metrics, "akash_provider_event_loop_delay_seconds")).slice(1);
    return Object.fromEntries(lines.map((line) => [/"(.*)"/.exec(line)?.[1], Number(line.split(" ")[1])]));
  };
  assert.deepEqual(await delays(), { "0.5": 0, "0.99": 0, "1": 0 }, "nothing was seen yet");
  // Node looks every 10 ms, and must have looked before and after a long turn to see it; when it has not, try again.
  const letNodeLook = () => new Promise((resolve) => setTimeout(resolve, 20));
  const busy = await eventually("a long turn", async () => {
    await letNodeLook();
    const until = performance.now() + 300;
    while (performance.now() < until);
    await letNodeLook();
    const seen = await delays();
    return (seen["1"] ?? 0) >= 0.25 && seen;
  });
  assert.ok((busy["0.5"] ?? 1) <= (busy["0.99"] ?? 0) && (busy["0.99"] ?? 1) <= (busy["1"] ?? 0));
  await eventually("only what came since", async () => ((await delays())["1"] ?? 1) < 0.25);
});

test("the usual metrics of a process are there", async (t) => {
  const text = await metricsFor(t).text();
  for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "nodejs_heap_size_used_bytes"]) {
    assert.match(text, new RegExp(`^${name} [\\d.]+$`, "m"));
  }
  const started = Number(/^process_start_time_seconds (.*)$/m.exec(text)?.[1]);
  assert.ok(Math.abs(started - (Date.now() / 1e3 - process.uptime())) < 5);
});

test("metrics keep no process alive, stopped or not", async () => {
  const program = `
    import { createMetrics } from ${JSON.stringify(join(import.meta.dirname, "metrics.ts"))};
    const metrics = createMetrics();
    await metrics.text();
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
});
