/** What happens to leases in the cluster, from its Events to the history that outlives them. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { createWatchedEvents } from "../src/cluster/occurrences/watched-events.ts";
import { openJournal } from "../src/journal/open.ts";
import { kinds } from "../src/kube/kinds.ts";
import { type Boundary, openBoundary } from "../src/runtime/boundary.ts";
import { createVirtualClock, formatTime } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { memoryFolder } from "./folder.ts";
import { createOwner } from "./owner.ts";

const controller = "akash.network/provider";

/** A cluster whose Events a test writes, and processes that keep those of the namespaces "lease-…". */
function eventStage(t: TestContext) {
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

  async function start(boundary: Boundary = openBoundary) {
    const { journal } = await openJournal({ dir, clock, log: silentLog });
    const kube = cluster.connect("akash-provider", { boundary });
    const events = createWatchedEvents({
      ...{ kube, journal, clock, controller, onRow: () => undefined, trouble: () => undefined },
      leaseIn: (namespace) => (namespace.startsWith("lease-") ? namespace : undefined),
    });
    const stopping = new AbortController();
    const running = events.run(stopping.signal).catch(() => undefined);
    await clock.advance(3_000);
    return {
      events,
      journal,
      about: (lease: string) => journal.read.occurrences.about(lease, 1_000),
      async stop() {
        stopping.abort();
        await clock.settle();
        await running;
        await kube.close();
        await Promise.all([journal.close(), clock.settle()]);
      },
    };
  }
  return { clock, cluster, happens, start };
}

const shown = (rows: readonly { reason: string; count: number }[]) => rows.map(({ reason, count }) => [reason, count]);

test("a crash loop is one line with its count, through restarts, new lists and new pods", async (t) => {
  const { clock, cluster, happens, start } = eventStage(t);
  const say = (pod: string) =>
    happens("lease-1", pod, `Back-off restarting failed container web in pod ${pod}_lease-1`);
  for (let time = 0; time < 5; time += 1) say("web-5d9c7bf6c8-x2kqz");
  let life = await start();
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 5]]);
  await clock.advance(60_000);
  for (let time = 0; time < 3; time += 1) say("web-5d9c7bf6c8-x2kqz");
  say("web-5d9c7bf6c8-4vwxz");
  await clock.advance(3_000);
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 9]]);
  cluster.faults.cutWatches();
  say("web-5d9c7bf6c8-4vwxz");
  cluster.faults.forgetPast();
  await clock.advance(60_000);
  assert.ok((life.events.watch?.counts.lists ?? 0) > 1, "the list was read anew");
  assert.equal(life.events.watch?.size, 0, "and nothing is kept of it in memory");
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 10]]);
  await life.stop();
  say("web-5d9c7bf6c8-4vwxz");
  // Somebody deletes an Event, and its kubelet makes it again with the count that it had.
  const [lost] = cluster.server.list(kinds.event, { namespace: "lease-1" });
  assert.ok(lost);
  cluster.server.delete(kinds.event, lost.metadata);
  const { uid: _, resourceVersion: __, ...metadata } = lost.metadata;
  cluster.server.create(kinds.event, { ...lost, metadata }, "kubelet");
  life = await start();
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 11]]);
  await life.stop();
});

test("what is said of others' namespaces, and by ourselves, is not written down", async (t) => {
  const { happens, start } = eventStage(t);
  happens("kube-system", "web-0", "not ours");
  happens("lease-1", "web-0", "said by us", { reportingController: controller });
  happens("lease-1", "web-0", "said by a kubelet");
  const life = await start();
  assert.deepEqual(
    life.about("lease-1").map(({ note, object, origin }) => [note, object, origin]),
    [["said by a kubelet", "Pod web-0", "cluster"]],
  );
  assert.equal(life.journal.rows().occurrences, 1);
  await life.stop();
});
