import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { ExecStreams, TerminalSize } from "../../src/box/cluster/components/kubelet/pod-runtime.ts";
import type { Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { LogLine } from "../../src/kube/kube.ts";
import type { Owner } from "../support/owner.ts";
import {
  type ClusterStage,
  clusterStage,
  isRunningAndReady,
  podObject,
  type StageOptions,
} from "../support/stages/simulated-cluster-stage.ts";

async function running(owner: Owner, options: StageOptions = {}, more: Parameters<typeof podObject>[1] = {}) {
  const stage = clusterStage(owner, options);
  stage.server.create(kinds.pod, podObject("a", more), "test");
  await stage.until(() => isRunningAndReady(stage.pod("a")));
  return { ...stage, live: stage.pod("a") as Pod };
}

const current = { previous: false };
const textsOf = (lines: readonly LogLine[]) => lines.map((line) => line.text);

test("the log of a container has its lines so far, with the time of each", async (t) => {
  const behaviour = () => ({ logs: (n: number) => `line ${n}`, logEveryMs: 1_000 });
  const { cluster, clock, live } = await running(t, { behaviour });
  await clock.advance(2_500);
  const { lines } = cluster.runtime.logs(live, "web", current);
  assert.deepEqual(textsOf(lines), ["line 0", "line 1", "line 2"]);
  assert.equal(lines[2]?.time, "2026-01-01T00:00:03.500000000Z");
});

test("a container that prints all at once has its lines in order", async (t) => {
  const { cluster, live } = await running(t, { behaviour: () => ({ logs: (n: number) => ["first", "second"][n] }) });
  const { lines } = cluster.runtime.logs(live, "web", current);
  assert.deepEqual(textsOf(lines), ["first", "second"]);
  assert.ok((lines[0]?.time ?? "") < (lines[1]?.time ?? ""));
});

test("the caller that follows a log hears every further line and then the end", async (t) => {
  const behaviour = () => ({ logs: (n: number) => `line ${n}`, logEveryMs: 1_000, exitAfterMs: 3_500 });
  const { cluster, clock, live } = await running(t, { behaviour }, { restartPolicy: "Never" });
  const heard: string[] = [];
  cluster.runtime.logs(live, "web", current).follow({
    line: (line) => void heard.push(line.text),
    end: () => void heard.push("end"),
  });
  await clock.advance(10_000);
  assert.deepEqual(heard, ["line 1", "line 2", "line 3", "end"]);
  cluster.runtime.logs(live, "web", current).follow({ line: () => undefined, end: () => void heard.push("over") });
  assert.equal(heard.at(-1), "over");
});

test("who stops following hears nothing more, and nothing ticks for it", async (t) => {
  const { cluster, clock, live } = await running(t, { behaviour: () => ({ logs: (n) => `${n}`, logEveryMs: 1_000 }) });
  const heard: string[] = [];
  const stop = cluster.runtime
    .logs(live, "web", current)
    .follow({ line: ({ text }) => void heard.push(text), end: () => undefined });
  await clock.advance(1_000);
  stop();
  await clock.advance(10_000);
  assert.deepEqual(heard, ["1"]);
  assert.equal(clock.pendingTimers, 0);
});

test("the log of the run before can be read after a crash", async (t) => {
  const behaviour = (_: string, { restarts }: { restarts: number }) => ({
    logs: (n: number) => (n === 0 ? `run ${restarts}` : undefined),
    exitAfterMs: 1_000,
    exitCode: 1,
  });
  const { cluster, live, until, pod } = await running(t, { behaviour });
  assert.throws(
    () => cluster.runtime.logs(live, "web", { previous: true }),
    /previous terminated container "web" in pod "a" not found/,
  );
  await until(() => pod("a")?.status?.containerStatuses?.[0]?.restartCount === 1);
  assert.deepEqual(textsOf(cluster.runtime.logs(live, "web", { previous: true }).lines), ["run 0"]);
  assert.deepEqual(textsOf(cluster.runtime.logs(live, "web", current).lines), ["run 1"]);
});

test("a container that has not started has no log yet, and the answer says what it waits for", async (t) => {
  const stage = clusterStage(t, { behaviour: () => ({ missing: true }) });
  stage.server.create(kinds.pod, podObject("a"), "test");
  await stage.until(() => stage.notes("a").some((note) => note.startsWith("BackOff")));
  const pod = stage.pod("a") as Pod;
  assert.throws(
    () => stage.cluster.runtime.logs(pod, "web", current),
    /^StatusError: container "web" in pod "a" is waiting to start: ImagePullBackOff$/,
  );
});

function exec(stage: ClusterStage & { live: Pod }, command: readonly string[], more: Partial<ExecStreams> = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const streams = { stdin: undefined, stdout, stderr, onResize: () => undefined, ...more };
  const exit = stage.cluster.runtime.exec(stage.live, "web", command, streams).finally(() => {
    stdout.end();
    stderr.end();
  });
  return { exit, out: text(stdout), err: text(stderr) };
}

test("a command runs in a container with its input, output and exit code", async (t) => {
  const stage = await running(t);
  const script = "cat; echo hello >&2; exit 7";
  const { exit, out, err } = exec(stage, ["sh", "-c", script], { stdin: Readable.from(["in"]) });
  assert.deepEqual([await exit, await out, await err], [7, "in", "hello\n"]);
});

test("the size of the terminal reaches the command", async (t) => {
  const stage = await running(t);
  let resize: (size: TerminalSize) => void = () => undefined;
  const stdin = new PassThrough();
  const onResize = (listener: typeof resize) => {
    resize = listener;
  };
  const { exit, out } = exec(stage, ["sh", "-c", "cat; stty size"], { stdin, onResize });
  resize({ columns: 132, rows: 43 });
  stdin.end();
  assert.deepEqual([await exit, await out], [0, "43 132\n"]);
});

test("a command whose container ends is killed", async (t) => {
  const stage = await running(t);
  const cut = exec(stage, ["cat"], { stdin: new PassThrough() });
  stage.server.delete(kinds.pod, { namespace: "default", name: "a" }, { graceSeconds: 0 });
  assert.equal(await cut.exit, 137);
});

test("a program that is not there is rejected as by a container runtime", async (t) => {
  const stage = await running(t);
  await assert.rejects(exec(stage, ["nothing"]).exit, /exec: "nothing": executable file not found in \$PATH/);
});

test("a container answers on the ports that it declares, and on no other", async (t) => {
  const behaviour = (image: string) =>
    image === "api:1"
      ? { http: ({ path }: { path: string }) => ({ status: 201, body: `requested ${path}` }) }
      : undefined;
  const containers = [
    { name: "web", image: "web:1", ports: [{ containerPort: 80 }] },
    { name: "api", image: "api:1", ports: [{ containerPort: 8080 }] },
  ];
  const { cluster, live } = await running(t, { behaviour }, { containers });
  const get = async (port: number) => {
    const { status, body } = await cluster.runtime.http(live, port, {
      method: "GET",
      path: "/x?y=1",
      headers: {},
      body: Buffer.alloc(0),
    });
    return `${status} ${body}`;
  };
  assert.equal(await get(80), "200 a\n");
  assert.equal(await get(8080), "201 requested /x?y=1");
  await assert.rejects(
    get(81),
    /error trying to reach service: dial tcp 10\.244\.0\.2:81: connect: connection refused/,
  );
});
