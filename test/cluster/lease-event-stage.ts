/** A cluster whose Events a test writes, and processes that keep them. */
import type { TestContext } from "node:test";
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { ourselves } from "../../src/cluster/leases/events/lease-history.ts";
import { createWatchedEvents } from "../../src/cluster/leases/events/watched-events.ts";
import type { Journal } from "../../src/journal/journal.ts";
import type { OccurrenceRow } from "../../src/journal/occurrences.ts";
import { openJournal } from "../../src/journal/open.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { formatTime } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { memoryFolder } from "../support/folder.ts";
import { createOwner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

/** Of the namespaces "lease-…", unless told which lease a namespace is. */
export function leaseEventStage(t: TestContext, leaseIn = leaseByName) {
  const owner = createOwner();
  t.after(() => owner[Symbol.asyncDispose]());
  const clock = createVirtualClock(Date.parse("2026-11-16T12:00:00Z"));
  const random = createSeededRandom(1);
  const cluster = createSimulatedCluster({ nodes: [] }, { clock, random, log: silentLog });
  owner.after(() => cluster.close());
  const dir = memoryFolder(t);
  const { server } = cluster;

  /** As a kubelet does: the first makes it, the others count it up. */
  function happens(namespace: string, pod: string, note: string, fields: Record<string, unknown> = {}): void {
    if (!server.get(kinds.namespace, { name: namespace })) {
      server.create(kinds.namespace, { metadata: { name: namespace } }, "operator");
    }
    const at = { namespace, name: `${pod}.${Buffer.from(note).toString("hex").slice(0, 40)}` };
    const before = server.get(kinds.event, at);
    const now = { deprecatedLastTimestamp: formatTime(clock.now()).replace(/\.\d+/, "") };
    if (before) {
      const deprecatedCount = Number(before["deprecatedCount"]) + 1;
      server.update(kinds.event, { ...before, ...now, deprecatedCount }, "kubelet");
      return;
    }
    const regarding = { apiVersion: "v1", kind: "Pod", namespace, name: pod };
    const told = { type: "Warning", reason: "BackOff", note, regarding, reportingController: "kubelet", ...fields };
    const first = { ...now, deprecatedFirstTimestamp: now.deprecatedLastTimestamp, deprecatedCount: 1 };
    server.create(kinds.event, { metadata: at, eventTime: null, ...told, ...first }, "kubelet");
  }

  async function start(boundary: Boundary = openBoundary, plant = (sound: Journal): Journal => sound) {
    const onRow: (row: OccurrenceRow) => void = (row) => {
      for (const listener of listeners) listener(row);
    };
    const listeners = new Set<(row: OccurrenceRow) => void>();
    const { journal: sound } = await openJournal({ dir, clock, log: silentLog, boundary });
    const journal = plant(sound);
    const kube = cluster.connect("akash-provider");
    const events = createWatchedEvents({
      ...{ kube, journal, clock, log: silentLog, onRow, cacheError: () => undefined },
      controller: ourselves.reportingController,
      leaseIn,
    });
    const stopping = new AbortController();
    const running = events.run(stopping.signal).catch(() => undefined);
    await clock.advance(3_000);
    return {
      events,
      journal,
      listeners,
      about: (lease: string) => journal.read.occurrences.about(lease, 1_000),
      async stop() {
        stopping.abort();
        await clock.settle();
        await running;
        await kube.close();
        await Promise.all([journal.close().catch(() => undefined), clock.settle()]);
      },
    };
  }
  return { clock, cluster, happens, start };
}

function leaseByName(namespace: string): string | undefined {
  return namespace.startsWith("lease-") ? namespace : undefined;
}
