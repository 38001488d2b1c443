/** The connection of this process to its cluster, with the watches that go through it. */
import type { ResourceService } from "../runtime/lifecycle.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Kube, WatchCache } from "./kube.ts";

export function createKubeService(connect: () => Kube): ResourceService<Kube> {
  const { promise: opened, resolve } = Promise.withResolvers<Kube>();
  let kube: Kube | undefined;
  return {
    name: "kube",
    start(scope) {
      const connected = connect();
      scope.onStop(() => connected.close());
      kube = connected;
      resolve(connected);
    },
    opened,
    detail: () => (kube ? `${kube.counts.requests} requests, ${[...kube.watches].length} watches` : ""),
    measure: (metrics) => kube && measureKube(metrics, kube),
  };
}

const callCounters = [
  ["requests", "Requests to the API server"],
  ["retries", "Requests retried"],
  ["applied", "Objects written by server-side apply"],
  ["unchanged", "Applies that had nothing to write"],
  ["warnings", "Warnings of the API server"],
] as const;

const sum = (a: number, b: number) => a + b;

/** Of several watches of a resource the values are added, of ages the longest counts. */
const watchMetrics = [
  [
    "age_seconds",
    "gauge",
    "Time since the API server was last heard of; of several watches, the longest",
    ({ ageMs }) => ageMs / 1_000,
    Math.max,
  ],
  ["objects", "gauge", "Objects in the cache", ({ size }) => size, sum],
  ["events_total", "counter", "Changes received", ({ counts }) => counts.events, sum],
  ["relists_total", "counter", "Lists after the first one of each watch", ({ counts }) => counts.relists, sum],
  ["silences_total", "counter", "Connections given up because nothing came", ({ counts }) => counts.silences, sum],
  ["errors_total", "counter", "Failed lists and watches", ({ counts }) => counts.errors, sum],
  ["handler_errors_total", "counter", "Changes whose handling failed", ({ counts }) => counts.handlerErrors, sum],
] as const satisfies readonly (readonly [
  name: string,
  kind: "gauge" | "counter",
  help: string,
  read: (cache: WatchCache<unknown>) => number,
  join: (a: number, b: number) => number,
])[];

export function measureKube(metrics: Metrics, { counts, watches }: Kube): void {
  for (const [count, help] of callCounters) {
    metrics.read({ name: `akash_provider_kube_${count}_total`, help, kind: "counter" }, () => counts[count]);
  }
  for (const [name, kind, help, read, join] of watchMetrics) {
    const spec = { name: `akash_provider_kube_watch_${name}`, help, kind, labels: ["resource"] } as const;
    metrics.read(spec, () => {
      const byResource = Map.groupBy(watches, ({ resource }) => resource);
      return [...byResource].map(
        ([resource, caches]) => [{ resource }, caches.map(read).reduce((a, b) => join(a, b))] as const,
      );
    });
  }
}
