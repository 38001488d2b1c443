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

export function measureKube(metrics: Metrics, kube: Kube): void {
  const counters = [
    ["requests", "Requests to the API server"],
    ["retries", "Requests retried"],
    ["applied", "Objects written by server-side apply"],
    ["unchanged", "Applies that had nothing to write"],
    ["warnings", "Warnings of the API server"],
  ] as const;
  for (const [count, help] of counters) {
    metrics.read({ name: `akash_provider_kube_${count}_total`, help, kind: "counter" }, () => kube.counts[count]);
  }
  measureWatches(metrics, kube);
}

function measureWatches(metrics: Metrics, kube: Kube): void {
  const name = "akash_provider_kube_watch";
  const labels = ["resource"] as const;
  const ageHelp = "Time since the API server was last heard of; of several watches, the longest";
  metrics.read({ name: `${name}_age_seconds`, help: ageHelp, kind: "gauge", labels }, () =>
    perResource(kube, ({ ageMs }) => ageMs / 1_000, Math.max),
  );
  const objectsHelp = "Objects in the cache";
  metrics.read({ name: `${name}_objects`, help: objectsHelp, kind: "gauge", labels }, () =>
    perResource(kube, ({ size }) => size, add),
  );
  const counters = [
    ["events", "events", "Changes received"],
    ["relists", "relists", "Lists after the first one of each watch"],
    ["silences", "silences", "Connections given up because nothing came"],
    ["errors", "errors", "Failed lists and watches"],
    ["handler_errors", "handlerErrors", "Changes whose handling failed"],
  ] as const;
  for (const [counter, count, help] of counters) {
    metrics.read({ name: `${name}_${counter}_total`, help, kind: "counter", labels }, () =>
      perResource(kube, ({ counts }) => counts[count], add),
    );
  }
}

function perResource(
  { watches }: Kube,
  read: (cache: WatchCache<unknown>) => number,
  together: (a: number, b: number) => number,
) {
  const values = new Map<string, number>();
  for (const cache of watches) {
    const { resource } = cache;
    values.set(resource, together(values.get(resource) ?? 0, read(cache)));
  }
  return [...values].map(([resource, value]) => [{ resource }, value] as const);
}

function add(a: number, b: number): number {
  return a + b;
}
