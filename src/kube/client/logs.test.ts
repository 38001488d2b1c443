import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answering, cut, openClient } from "../../../test/support/kube/kube-client.ts";
import { box, simulateBox } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { runs } from "../../../test/support/runs.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { PodLogOptions } from "../kube.ts";

/** A container that says "line 0", "line 1" and so on, three times a second, for ten seconds. */
async function stage(owner: Owner) {
  const clock = createVirtualClock();
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const cluster = await simulateBox(owner, { clock, lines, lineEveryMs: 333, exitAfterMs: 10_000 });
  const kube = cluster.connect("akash-provider");
  const seen: string[] = [];
  async function follow(signal?: AbortSignal): Promise<void> {
    for await (const lines of kube.logs(box, { follow: true, ...(signal && { signal }) }))
      seen.push(...lines.map(({ text }) => text));
  }
  return { clock, cluster, kube, lines, seen, follow };
}

test("a log that is followed goes on after every kind of interruption, with no line left out and none twice", async (t) => {
  const { clock, cluster, lines, seen, follow } = await stage(t);
  const reading = follow();
  await clock.advance(1_500);
  assert.deepEqual(seen, lines.slice(0, seen.length));
  cluster.faults.cutLogs();
  await clock.advance(2_000);
  // A server that stops ends the stream as politely as a container does.
  cluster.faults.endLogs();
  await clock.advance(2_000);
  cluster.faults.reject({ status: 500, path: "/log" });
  cluster.faults.endLogs();
  await clock.advance(10_000);
  await reading;
  assert.deepEqual(seen, lines);
});

test("following ends with its signal", async (t) => {
  const { clock, seen, follow } = await stage(t);
  const stop = new AbortController();
  const reading = follow(stop.signal);
  await clock.advance(1_000);
  stop.abort();
  await reading;
  const { length } = seen;
  assert.ok(length > 0);
  await clock.advance(5_000);
  assert.equal(seen.length, length);
});

test("a pod that is not there has no log, and that is reported", async (t) => {
  const { kube } = await stage(t);
  const lines = kube.logs({ namespace: "lease", name: "missing" }, { follow: true })[Symbol.asyncIterator]();
  await assert.rejects(lines.next(), (thrown) => ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND"));
});

interface Reported {
  /** The lines of the log as it is now: every stream reports them and ends politely. */
  log(): readonly string[];
  /** The status of the pod as it is now. */
  status(): object;
}

/** A server that ends every stream at once, as one does that is just stopping or whose kubelet is in error. */
function followPoliteEnds({ log, status }: Reported, options: PodLogOptions = {}) {
  const clock = createVirtualClock();
  const requests: string[] = [];
  const transport = answering((path) => {
    requests.push(path);
    // Else a loop without a pause would hold up the test for good.
    assert.ok(requests.length < 500, "far too many requests");
    if (!/\/log\?/.test(path)) return [Buffer.from(JSON.stringify({ status: status() }))];
    const isOther = !options.previous && /previous=true/.test(path);
    return isOther ? [] : log().map((line) => Buffer.from(`${line}\n`));
  });
  const kube = openClient(transport, clock);
  const seen: string[] = [];
  async function read(): Promise<void> {
    for await (const lines of kube.logs(box, { follow: true, ...options }))
      seen.push(...lines.map(({ time, text }) => `${time} ${text}`));
  }
  return { clock, kube, requests, seen, reading: read() };
}

const running = { state: { running: {} } };
const ended = { state: { terminated: {} } };

test("a stream that ends politely again and again while the container runs is requested with growing pauses", async () => {
  const lines = ["2026-01-01T00:00:01Z one", "2026-01-01T00:00:01Z two", "failed to watch the log file"];
  let status = { containerStatuses: [{ name: "box", ...running }] as object[] };
  const { clock, requests, seen, reading } = followPoliteEnds({ log: () => lines, status: () => status });
  await clock.advance(60_000);
  const first = requests.length;
  assert.ok(first > 10 && first < 60, `${first} requests within a minute`);
  // Each time in other words: no container's line, so no sign that it goes better.
  for (let at = 0; at < 60; at += 1) {
    lines[2] = `failed to watch the log file: ${at}`;
    await clock.advance(1_000);
  }
  assert.ok(requests.length < 2 * first, `${requests.length} requests within two minutes`);
  assert.deepEqual(seen.slice(0, 3), [...lines.slice(0, 2), "2026-01-01T00:00:01Z failed to watch the log file"]);
  assert.ok(seen.slice(3).every((line) => /failed/.test(line)));
  lines.push("2026-01-01T00:00:02Z three");
  status = { containerStatuses: [{ name: "box", ...ended }] };
  await clock.advance(10_000);
  await reading;
  assert.equal(seen.at(-1), "2026-01-01T00:00:02Z three");
});

for (const field of ["initContainerStatuses", "ephemeralContainerStatuses"]) {
  test(`a container of ${field} is followed until it ends`, async () => {
    const lines = ["2026-01-01T00:00:01Z one"];
    let state: object = running;
    const status = () => ({ containerStatuses: [{ name: "box", ...ended }], [field]: [{ name: "other", ...state }] });
    const { clock, seen, reading } = followPoliteEnds({ log: () => lines, status }, { container: "other" });
    await clock.settle();
    lines.push("2026-01-01T00:00:02Z two");
    state = ended;
    await clock.advance(10_000);
    await reading;
    assert.deepEqual(seen, lines);
  });
}

test("the log of the container before this one ends, though this one runs", async () => {
  const lines = ["2026-01-01T00:00:01Z one"];
  const status = () => ({ containerStatuses: [{ name: "box", ...running }] });
  const { seen, reading } = followPoliteEnds({ log: () => lines, status }, { previous: true });
  await reading;
  assert.deepEqual(seen, lines);
});

test("following ends when the client is closed, also while it pauses", async () => {
  const status = () => ({ containerStatuses: [{ name: "box", ...running }] });
  const { clock, kube, reading } = followPoliteEnds({ log: () => [], status });
  await clock.settle();
  assert.equal(clock.pendingTimers, 1, "it pauses");
  await kube.close();
  await reading;
  assert.equal(clock.pendingTimers, 0);
});

test("wherever streams break off, in the middle of a line too, every line comes once and whole", async () => {
  const pause = fc.integer({ min: 0, max: 700 });
  const end = fc.record({ bytes: fc.integer({ min: 0, max: 400 }), isPolite: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(pause, { minLength: 1, maxLength: 40 }),
      fc.array(end, { maxLength: 12 }),
      async (pauses, ends) => {
        let atMs = Date.UTC(2026, 0, 1);
        const log = pauses.map((ms, n) => {
          atMs += ms;
          return `${new Date(atMs).toISOString().slice(0, -1)}000000Z line ${n}\n`;
        });
        const broken = [...ends];
        let isWhole = false;
        const transport = answering((path) => {
          if (!/\/log\?/.test(path)) return [Buffer.from(JSON.stringify({ status: { containerStatuses: [state()] } }))];
          if (/previous=true/.test(path)) return [];
          const since = /sinceTime=([^&]*)/.exec(path)?.[1] ?? "";
          const bytes = Buffer.from(log.filter((line) => line >= decodeURIComponent(since).slice(0, 19)).join(""));
          isWhole = broken.length === 0;
          const { bytes: most = bytes.length, isPolite = true } = broken.shift() ?? {};
          return [bytes.subarray(0, most), ...(isPolite ? [] : [cut])];
        });
        const state = () => ({ name: "box", ...(isWhole ? ended : running) });
        const clock = createVirtualClock();
        const kube = openClient(transport, clock);
        const seen: string[] = [];
        const reading = (async () => {
          for await (const lines of kube.logs(box, { follow: true }))
            seen.push(...lines.map(({ time, text }) => `${time} ${text}\n`));
        })();
        await clock.advance(600_000);
        await reading;
        assert.deepEqual(seen, log);
      },
    ),
    { numRuns: runs(40, 1_000) },
  );
});

test("a server that stops just when the container ends takes no line with it", async () => {
  const lines = ["2026-01-01T00:00:01Z one", "2026-01-01T00:00:01.5Z two", "2026-01-01T00:00:02Z three"];
  let reported = 1;
  const log = () => lines.slice(0, reported++ === 1 ? 1 : 3);
  const { seen, reading } = followPoliteEnds({
    log,
    status: () => ({ containerStatuses: [{ name: "box", ...ended }] }),
  });
  await reading;
  assert.deepEqual(seen, lines);
});
