/** What a tenant is told of what happens to a lease, from the cluster's Events through the journal to whoever reads. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { historyOf, isForTenant, toLeaseEvent } from "../../src/cluster/leases/events/lease-history.ts";
import { eventsUnderWay } from "../../src/cluster/leases/events/watched-events.ts";
import {
  createLeaseEvents,
  eventsWaiting,
  familyOf,
  serviceOfObject,
} from "../../src/cluster/leases/tenant-pods/lease-events.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { TenantLeases } from "../../src/kube/tenant-access.ts";
import { formatLeaseId, parseLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { leaseHistoryMostLines } from "../../src/runtime/limits.ts";
import { runs } from "../support/runs.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { leaseEventStage } from "./lease-event-stage.ts";

const lease = parseLeaseId(
  "akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr/7/1/1/akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6",
);
const key = formatLeaseId(lease);
const namespace = leaseNamespace(lease);

function leaseIn(name: string): string | undefined {
  return name === namespace ? key : undefined;
}

/** A lease of which nothing but Events is there, and readers of them. */
async function readersStage(t: TestContext) {
  const stage = leaseEventStage(t, leaseIn);
  let life = await stage.start();
  let state = "bare";
  const events = () => {
    const { journal, listeners } = life;
    return createLeaseEvents(
      {
        of: (lease) => historyOf(journal.read, lease, leaseHistoryMostLines, isForTenant),
        onEvent(_, listener) {
          const heard = (row: Parameters<typeof toLeaseEvent>[0]) => listener(toLeaseEvent(row));
          listeners.add(heard);
          return () => void listeners.delete(heard);
        },
      },
      { find: (() => ({ state })) as unknown as TenantLeases["find"] },
      { workloads: () => [] },
    );
  };

  function read({ follow = true, services }: { follow?: boolean; services?: string[] } = {}) {
    const [stopping, notes, batches] = [new AbortController(), [] as string[], [] as number[]];
    const asked = { services: services && new Set(services), follow, signal: stopping.signal };
    const stream = events()(lease, asked);
    const ended = (async () => {
      for await (const batch of stream) {
        batches.push(batch.length);
        notes.push(...batch.map(({ note }) => note));
      }
    })();
    return { notes, batches, ended, stop: () => stopping.abort() };
  }
  return {
    ...stage,
    read,
    events: (signal: AbortSignal) => events()(lease, { services: undefined, follow: true, signal }),
    listening: () => life.listeners.size,
    is(now: string) {
      state = now;
    },
    stop: () => life.stop(),
    async restart() {
      await life.stop();
      life = await stage.start();
    },
  };
}

/** Letters, since two notes that differ in numbers alone are the same. */
const word = (at: number) => at.toString().replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)] ?? "");

test("a reader who starts amid events is sent each of them once", async (t) => {
  const { clock, happens, read, listening, stop } = await readersStage(t);
  const random = createSeededRandom(7);
  const readers: ReturnType<typeof read>[] = [];
  const all: string[] = [];
  for (let at = 0; at < runs(60, 95); at += 1) {
    const note = `it is ${word(at)}`;
    happens(namespace, "web-0", note);
    all.push(note);
    readers.push(read());
    // Some begin between the write and the word of it.
    if (random.next() < 0.7) await clock.advance(Math.floor(random.next() * 1_200));
    if (random.next() < 0.5) readers.push(read());
  }
  await clock.advance(5_000);
  for (const { notes } of readers) assert.deepEqual(notes.toSorted(), all.toSorted());
  for (const reader of readers) reader.stop();
  await Promise.all(readers.map(({ ended }) => ended));
  assert.equal(listening(), 0, "and nobody is told any more");
  await stop();
});

test("forgotten Events are sent from the journal, repeated ones are not, and those of each pod are sent live", async (t) => {
  const { clock, cluster, happens, read, restart, stop } = await readersStage(t);
  const [first, second] = ["web-5d9c7bf6c8-x2kqz", "web-5d9c7bf6c8-4vwxz"];
  happens(namespace, first, "Started container web", { type: "Normal", reason: "Started", reportingInstance: "n1" });
  await clock.advance(2 * 3_600_000);
  for (const { metadata } of cluster.server.list(kinds.event, { namespace }))
    cluster.server.delete(kinds.event, metadata);
  await restart();
  const [list, follow] = [read({ follow: false }), read()];
  await clock.advance(1);
  await list.ended;
  assert.deepEqual(list.notes, ["Started container web"]);
  for (const pod of [first, second]) happens(namespace, pod, "Back-off restarting failed container");
  await clock.advance(3_000);
  assert.deepEqual(follow.batches, [1, 2], "one of each pod");
  cluster.faults.cutWatches();
  cluster.faults.forgetPast();
  await clock.advance(60_000);
  assert.deepEqual(follow.batches, [1, 2], "a new list brings nothing new");
  follow.stop();
  await follow.ended;
  await stop();
});

test("an event is shown as the cluster has it", async (t) => {
  const { clock, happens, events, stop } = await readersStage(t);
  const stopping = new AbortController();
  happens(namespace, "web-0", "Started <web>", { type: "Normal", reason: "Started", reportingInstance: "node-1" });
  await clock.advance(3_000);
  const stream = events(stopping.signal);
  assert.deepEqual((await stream.next()).value, [
    {
      ...{ type: "Normal", reportingController: "kubelet", reportingInstance: "node-1", reason: "Started" },
      ...{ note: "Started <web>", object: { kind: "Pod", namespace, name: "web-0" } },
    },
  ]);
  const next = stream.next();
  stopping.abort();
  assert.equal((await next).done, true);
  await stop();
});

test("events of a service are those of objects that are named after it", async (t) => {
  const { clock, happens, read, stop } = await readersStage(t);
  const pods = ["web-5d9c7bf6c8-x2kqz", "web-2-5d9c7bf6c8-x2kqz", "store-0"];
  for (const pod of pods) happens(namespace, pod, `Started ${pod.split("-")[0]}${word(pod.length)}`);
  await clock.advance(3_000);
  const reader = read({ services: ["web", "none"], follow: false });
  await reader.ended;
  assert.deepEqual(reader.notes, [`Started web${word(20)}`]);
  await stop();
  const services = ["web", "web-2", "store", "db-store"];
  const cases = [
    ["Pod web-5d9c7bf6c8-x2kqz", "web"],
    ["Pod web-2-5d9c7bf6c8-x2kqz", "web-2"],
    ["ReplicaSet web-5d9c7bf6c8", "web"],
    ["Deployment web-2", "web-2"],
    ["PersistentVolumeClaim store-data-store-1", "store"],
    ["PersistentVolumeClaim db-store-data-db-store-0", "db-store"],
    ["Service web-np", "web"],
    ["service web-2", "web-2"],
    ["Namespace web7", undefined],
    ["", undefined],
  ] as const;
  for (const [object, service] of cases) {
    let looks = 0;
    const isService = (name: string) => {
      looks += 1;
      return services.includes(name);
    };
    assert.equal(serviceOfObject(object, isService), service, object);
    // However many services there are, or a tenant says that there are.
    assert.ok(looks <= object.split("-").length, object);
  }
});

test("a reader who stays behind is let go, and a lease of which nothing is there has no events", async (t) => {
  const { clock, happens, events, is, listening, stop } = await readersStage(t);
  const stream = events(new AbortController().signal);
  await stream.next();
  const waiting = stream.next();
  for (let at = 0; at <= eventsWaiting + eventsUnderWay; at += 1) happens(namespace, "web-0", `it is ${word(at)}`);
  await clock.advance(10_000);
  await waiting;
  await assert.rejects(stream.next(), { code: "AKP_STREAM_TOO_SLOW" });
  assert.equal(listening(), 0);
  is("unknown");
  await assert.rejects(events(new AbortController().signal).next(), { code: "AKP_LEASE_NOT_IN_CLUSTER" });
  await stop();
});

test("the family of a name leaves out what differs between replicas and updates", () => {
  const cases = [
    ["Pod", "web-5d9c7bf6c8-x2kqz", "web"],
    ["Pod", "my-web-2-5d9c7bf6c8-x2kqz", "my-web-2"],
    ["Pod", "store-12", "store"],
    ["ReplicaSet", "web-5d9c7bf6c8", "web"],
    ["PersistentVolumeClaim", "data-store-0", "data-store"],
    ["StatefulSet", "store-2", "store-2"],
    ["Namespace", "q9f6b2s", "q9f6b2s"],
  ] as const;
  for (const [kind, name, family] of cases) assert.equal(familyOf(kind, name), family, name);
});
