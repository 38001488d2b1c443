/** What happens to leases in the cluster, from its Events to the history that outlives them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventNoteChars, eventRowsOfLease, ourselves } from "../../src/cluster/leases/events/lease-history.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { openBoundary } from "../../src/runtime/boundary.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { createCountingBoundary } from "../support/counting-boundary.ts";
import { memoryFolder } from "../support/folder.ts";
import { createTenant } from "../support/lease-tenant.ts";
import { runs } from "../support/runs.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { onLeaseStage } from "../support/stages/lease-stage.ts";
import { leaseEventStage } from "./lease-event-stage.ts";

const { reportingController: controller } = ourselves;

const shown = (rows: readonly { reason: string; count: number }[]) => rows.map(({ reason, count }) => [reason, count]);

test("a crash loop of a pod is one row with its count, through restarts and new lists", async (t) => {
  const { clock, cluster, happens, start } = leaseEventStage(t);
  const say = (pod = "web-5d9c7bf6c8-x2kqz") => happens("lease-1", pod, `Back-off restarting container in pod ${pod}`);
  for (let time = 0; time < 5; time += 1) say();
  let life = await start();
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 5]]);
  await clock.advance(60_000);
  for (let time = 0; time < 3; time += 1) say();
  await clock.advance(3_000);
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 8]]);
  cluster.faults.cutWatches();
  say();
  cluster.faults.forgetPast();
  await clock.advance(60_000);
  assert.ok((life.events.watch?.counts.lists ?? 0) > 1, "the list was read anew");
  assert.equal(life.events.watch?.size, 0, "and nothing is kept of it in memory");
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 9]]);
  await life.stop();
  say();
  // Somebody deletes an Event, and its kubelet makes it again with the count that it had.
  const [lost] = cluster.server.list(kinds.event, { namespace: "lease-1" });
  assert.ok(lost);
  cluster.server.delete(kinds.event, lost.metadata);
  const { uid: _, resourceVersion: __, ...metadata } = lost.metadata;
  cluster.server.create(kinds.event, { ...lost, metadata }, "kubelet");
  life = await start();
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 10]]);
  say("web-5d9c7bf6c8-4vwxz");
  await clock.advance(3_000);
  assert.deepEqual(shown(life.about("lease-1")).sort(), [
    ["BackOff", 1],
    ["BackOff", 10],
  ]);
  await life.stop();
});

test("a cluster that is restored from a while ago is counted on from what was counted", async (t) => {
  const { clock, cluster, happens, start } = leaseEventStage(t);
  const say = () => happens("lease-1", "web-0", "Back-off restarting failed container");
  const life = await start();
  for (let crash = 0; crash < 6; crash += 1) say();
  await clock.advance(3_000);
  cluster.faults.goBack(3);
  const [event] = cluster.server.list(kinds.event, { namespace: "lease-1" });
  const back = Number(event?.["deprecatedCount"]);
  assert.ok(back < 6, `it is back at ${back}`);
  await clock.advance(60_000);
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 6]], "what is told again is known");
  for (let crash = 0; crash < 5; crash += 1) say();
  await clock.advance(60_000);
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", back + 5]], "some of them have been counted already");
  await life.stop();
});

test("what is said of others' namespaces, and by ourselves, is not written down", async (t) => {
  const { happens, start } = leaseEventStage(t);
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

test("a process that ends at any write of the journal counts nothing twice, and loses nothing that the cluster still has", async (t) => {
  for (let at = 1; ; at += 1) {
    const { clock, happens, start } = leaseEventStage(t);
    const boundary = createCountingBoundary(at);
    let isOpen = false;
    let life = await start({ cross: (kind, point) => isOpen && boundary.cross(kind, point) });
    isOpen = true;
    for (let minute = 0; minute < 3; minute += 1) {
      for (const pod of ["web-0", "web-1"]) happens("lease-1", pod, "Back-off restarting failed container");
      await clock.advance(60_000);
    }
    await life.stop();
    life = await start();
    const counts = shown(life.about("lease-1"));
    assert.deepEqual(
      counts,
      [
        ["BackOff", 3],
        ["BackOff", 3],
      ],
      `a crash at ${boundary.crossings.at(-1)}`,
    );
    await life.stop();
    if (!boundary.crashed) return assert.ok(at > 6, `${at - 1} boundaries`);
  }
});

test("Events that cannot be written stop nothing: those of a busy journal wait, and the next ones are written", async (t) => {
  const { clock, happens, start } = leaseEventStage(t);
  const faults: Error[] = [];
  const life = await start(openBoundary, (sound) => ({
    ...sound,
    relaxed: async (label, unit) => {
      const fault = faults.shift();
      if (fault) throw fault;
      return sound.relaxed(label, unit);
    },
  }));
  faults.push(new ProviderError("AKP_JOURNAL_BUSY", { path: "journal", reason: "test" }));
  happens("lease-1", "web-0", "it waits");
  await clock.advance(5_000);
  assert.deepEqual(shown(life.about("lease-1")), [["BackOff", 1]]);
  faults.push(new Error("no such column"));
  happens("lease-1", "web-0", "it is lost");
  await clock.advance(5_000);
  happens("lease-1", "web-0", "it is written");
  await clock.advance(5_000);
  assert.deepEqual(
    life.about("lease-1").map(({ note }) => note),
    ["it is written", "it waits"],
  );
  await life.stop();
});

test("a lease whose pods fail in a thousand ways keeps its newest rows, and no other lease has fewer", async (t) => {
  const { clock, happens, start } = leaseEventStage(t);
  const leases = runs(20, 1_000);
  const ways = runs(300, 3_000);
  for (let lease = 0; lease < leases; lease += 1) happens(`lease-${lease}`, "web-0", "Back-off restarting");
  const life = await start();
  // Letters, since numbers in it would make it the same.
  const word = (way: number) => way.toString().replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)] ?? "");
  for (let way = 0; way < ways; way += 1) {
    happens("lease-0", "web-0", `way of ${word(way)} ${"x".repeat(5_000)}`);
    if (way % 100 === 99) await clock.advance(1_000);
  }
  await clock.advance(10_000);
  const rows = life.about("lease-0");
  assert.equal(rows.length, eventRowsOfLease);
  assert.ok(rows.every(({ note }) => note.length <= eventNoteChars));
  assert.ok(rows[0]?.note.startsWith(`way of ${word(ways - 1)} `));
  for (let lease = 1; lease < leases; lease += 1) assert.equal(life.about(`lease-${lease}`).length, 1);
  assert.equal(life.journal.rows().occurrences, leases - 1 + eventRowsOfLease);
  await life.stop();
});

test("a cluster full of Events is read in slices, whatever they are about, and known again at the next start", async (t) => {
  const { clock, happens, start } = leaseEventStage(t);
  const leases = runs(20, 1_000);
  const [pods, words] = [
    ["web-5d9c7bf6c8-x2kqz", "web-5d9c7bf6c8-4vwxz", "store-0"],
    ["Back-off", "Failed", "Killing"],
  ];
  for (let lease = 0; lease < leases; lease += 1) {
    for (const pod of pods) for (const word of words) happens(`lease-${lease}`, pod, `${word} container in ${pod}`);
    for (const word of words) happens("kube-system", `pod-${lease}`, word);
  }
  let life = await start();
  await clock.advance(60_000);
  assert.equal(life.journal.rows().occurrences, leases * pods.length * words.length);
  assert.equal(life.events.counts.seen, leases * pods.length * words.length);
  assert.equal(life.events.watch?.size, 0);
  const { kept } = life.events.counts;
  await life.stop();
  life = await start();
  await clock.advance(60_000);
  assert.deepEqual([life.events.counts.kept, kept > 0], [0, true], "nothing is written a second time");
  await life.stop();
});

test("Events of kubelet and provider about a lease that cannot run reach tenant, operator and kubectl, and outlive it", async (t) => {
  const dir = memoryFolder(t);
  await onLeaseStage({ dir }, async (stage) => {
    const { server } = stage.cluster;
    let services = await stage.start().services;
    const tenant = createTenant(stage, 1n);
    const sdl = shop({ page: "example.com/crashing:1", store: "example.com/missing:1" });
    await tenant.post(sdl);
    await tenant.takeBid();
    const lease = formatLeaseId(tenant.lease);
    const told = () => services.cluster.eventsOf(lease);
    const lines = () => told().map(({ origin, reason }) => `${origin} ${reason}`);
    await tenant.sendManifest(sdl);
    const awaited = ["cluster BackOff", "cluster Failed", "ours CrashLoop", "ours ImageError", "journal Deployed"];
    await stage.until("all of it", () => awaited.every((each) => lines().includes(each)));

    const events = () => server.list(kinds.event, { namespace: tenant.namespace });
    const ours = () => events().filter((event) => event["reportingController"] === controller);
    const isAbout = (kind: string, reason: string) =>
      ours().some((event) => {
        const regarding = event["regarding"] as { kind: string; uid?: string };
        return event["reason"] === reason && regarding.kind === kind && regarding.uid !== undefined;
      });
    const said = [
      ["Deployment", "CrashLoop"],
      ["StatefulSet", "ImageError"],
      ["Namespace", "Deployed"],
    ] as const;
    await stage.until("our Events", () => said.every(([kind, reason]) => isAbout(kind, reason)));
    assert.equal(lines().filter((line) => line.endsWith("CrashLoop")).length, 1, "ours did not come back as another's");

    const inCluster = () =>
      events()
        .filter(isBackOff)
        .reduce((sum, event) => sum + Number(event["deprecatedCount"]), 0);
    const inJournal = () =>
      told()
        .filter(({ origin, reason }) => origin === "cluster" && reason === "BackOff")
        .filter(({ object }) => object.startsWith("Pod page-"))
        .reduce((sum, { count }) => sum + count, 0);
    await stage.life?.stop();
    services = await stage.start().services;
    await stage.until("every crash to be counted, and each once", () => inCluster() === inJournal());

    for (const { metadata } of events()) server.delete(kinds.event, metadata);
    await tenant.close();
    await tenant.isGone();
    await stage.until("its end", () => lines().some((line) => line.startsWith("journal TornDown")));
    assert.deepEqual(
      awaited.filter((each) => !lines().includes(each)),
      [],
    );
  });
});

function isBackOff({ reason, regarding }: KubeObject): boolean {
  return reason === "BackOff" && (regarding as { name: string }).name.startsWith("page-");
}
