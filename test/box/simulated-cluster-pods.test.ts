import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour } from "../../src/box/cluster/components/kubelet/behaviour.ts";
import type { ContainerStatus, Pod } from "../../src/box/cluster/components/shapes/pod.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { clusterStage, condition, isRunningAndReady, podObject } from "../support/stages/simulated-cluster-stage.ts";

const behaves = (table: Record<string, Behaviour>) => (image: string) => table[image];

function status(pod: Pod | undefined, container = "web"): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.find(({ name }) => name === container);
}

test("a pod is pending while its image comes, then runs, and reports everything about itself", async (t) => {
  const { server, clock, pod, notes } = clusterStage(t);
  server.create(kinds.pod, podObject("a", { requests: { cpu: "1" } }), "test");
  await clock.settle();
  assert.equal(pod("a")?.status?.phase, "Pending");
  assert.equal(status(pod("a"))?.state.waiting?.reason, "ContainerCreating");
  assert.equal(condition(pod("a"), "Ready")?.message, "containers with unready status: [web]");
  await clock.advance(1_500);
  const running = pod("a");
  assert.ok(isRunningAndReady(running));
  assert.deepEqual(
    [running?.status?.podIP, running?.status?.["hostIP"], running?.status?.startTime],
    ["10.244.0.2", "192.168.10.1", "2026-01-01T00:00:00Z"],
  );
  const { ready, started, restartCount, state, containerID } = status(running) ?? {};
  assert.deepEqual([ready, started, restartCount], [true, true, 0]);
  assert.equal(state?.running?.startedAt, "2026-01-01T00:00:01Z");
  assert.match(containerID ?? "", /^containerd:\/\/[0-9a-f]{64}$/);
  assert.deepEqual(
    notes("a").map((note) => note.split(":")[0]),
    ["Scheduled", "Pulling", "Pulled", "Created", "Started"],
  );
});

test("a node that has the image starts the next pod of it sooner", async (t) => {
  const { server, clock, pod, notes, until } = clusterStage(t);
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  server.create(kinds.pod, podObject("b"), "test");
  await clock.advance(500);
  assert.ok(isRunningAndReady(pod("b")));
  assert.ok(notes("b").includes('Pulled: Container image "web:1" already present on machine'));
});

test("a pod with a readiness probe runs before it is ready", async (t) => {
  const { server, clock, pod } = clusterStage(t, { behaviour: behaves({ "web:1": { readyMs: 7_000 } }) });
  const readinessProbe = { tcpSocket: { port: 80 }, periodSeconds: 5 };
  const containers = [{ name: "web", image: "web:1", readinessProbe }];
  server.create(kinds.pod, podObject("a", { containers }), "test");
  await clock.advance(1_500 + 6_999);
  assert.equal(pod("a")?.status?.phase, "Running");
  assert.equal(isRunningAndReady(pod("a")), false);
  await clock.advance(1);
  assert.ok(isRunningAndReady(pod("a")));
});

test("a container that crashes is started again, after pauses that double", async (t) => {
  const behaviour = behaves({ "web:1": { exitAfterMs: 1_000, exitCode: 1 } });
  const { server, clock, pod, notes, until } = clusterStage(t, { behaviour });
  server.create(kinds.pod, podObject("a"), "test");
  const starts: number[] = [];
  for (let n = 0; n < 8; n++) {
    await until(() => status(pod("a"))?.restartCount === n && status(pod("a"))?.state.running !== undefined);
    starts.push(clock.monotonicMs());
    await clock.advance(1_000);
  }
  const pauses = starts.slice(1).map((ms, index) => (ms - (starts[index] ?? 0) - 1_500) / 1_000);
  assert.deepEqual(pauses, [0, 10, 20, 40, 80, 160, 300]);
  const { state, lastState, ready } = status(pod("a")) ?? {};
  assert.equal(state?.waiting?.reason, "CrashLoopBackOff");
  assert.match(state?.waiting?.message ?? "", /^back-off 5m0s restarting failed container=web pod=a_default\(/);
  assert.deepEqual([lastState?.terminated?.exitCode, lastState?.terminated?.reason, ready], [1, "Error", false]);
  assert.equal(pod("a")?.status?.phase, "Running");
  assert.equal(notes("a").filter((note) => note.startsWith("BackOff")).length, 1);
});

test("an image that is not there is tried again, with the reasons a kubelet gives", async (t) => {
  const { server, clock, pod, notes, until } = clusterStage(t, { behaviour: behaves({ "web:1": { missing: true } }) });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => status(pod("a"))?.state.waiting?.reason === "ErrImagePull");
  await until(() => status(pod("a"))?.state.waiting?.reason === "ImagePullBackOff");
  assert.match(status(pod("a"))?.state.waiting?.message ?? "", /^Back-off pulling image "web:1"/);
  assert.equal(pod("a")?.status?.phase, "Pending");
  await clock.advance(3_600_000);
  assert.equal(status(pod("a"))?.restartCount, 0);
  assert.ok(notes("a").length < 10, "the same event again only raises its count");
});

test("an image that appears later is found by the next try", async (t) => {
  let missing = true;
  const { server, pod, until } = clusterStage(t, { behaviour: () => ({ missing }) });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => status(pod("a"))?.state.waiting?.reason === "ImagePullBackOff");
  missing = false;
  await until(() => isRunningAndReady(pod("a")));
});

test("a container that takes too much memory is killed and says so", async (t) => {
  const { server, pod, until } = clusterStage(t, { behaviour: behaves({ "web:1": { exitAfterMs: 100, oom: true } }) });
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => status(pod("a"))?.state.waiting?.reason === "CrashLoopBackOff");
  const { exitCode, reason } = status(pod("a"))?.lastState.terminated ?? {};
  assert.deepEqual([exitCode, reason], [137, "OOMKilled"]);
});

test("how a pod ends follows from its restart policy and its exit code", async (t) => {
  const { server, pod, until } = clusterStage(t, {
    behaviour: behaves({ "good:1": { exitAfterMs: 1_000 }, "bad:1": { exitAfterMs: 1_000, exitCode: 2 } }),
  });
  const create = (name: string, image: string, restartPolicy: "Never" | "OnFailure") =>
    server.create(kinds.pod, podObject(name, { image, restartPolicy }), "test");
  create("good-never", "good:1", "Never");
  create("bad-never", "bad:1", "Never");
  create("good-on-failure", "good:1", "OnFailure");
  create("bad-on-failure", "bad:1", "OnFailure");
  await until(() => status(pod("bad-on-failure"))?.restartCount === 1);
  assert.deepEqual(
    ["good-never", "bad-never", "good-on-failure", "bad-on-failure"].map((name) => pod(name)?.status?.phase),
    ["Succeeded", "Failed", "Succeeded", "Running"],
  );
  assert.equal(condition(pod("good-never"), "Ready")?.reason, "PodCompleted");
});

test("a deleted pod is given time to end, and is gone as soon as it has", async (t) => {
  const { server, clock, pod, until } = clusterStage(t, {
    behaviour: behaves({ "slow:1": { stopMs: 4_000 }, "deaf:1": { stopMs: 60_000 } }),
  });
  server.create(kinds.pod, podObject("slow", { image: "slow:1" }), "test");
  server.create(kinds.pod, podObject("deaf", { image: "deaf:1", terminationGracePeriodSeconds: 10 }), "test");
  await until(() => isRunningAndReady(pod("slow")) && isRunningAndReady(pod("deaf")));
  for (const name of ["slow", "deaf"]) server.delete(kinds.pod, { namespace: "default", name });
  await clock.advance(3_999);
  assert.notEqual(pod("slow")?.metadata.deletionTimestamp, undefined);
  await clock.advance(1);
  assert.equal(pod("slow"), undefined);
  await clock.advance(5_999);
  assert.ok(pod("deaf"));
  await clock.advance(1);
  assert.equal(pod("deaf"), undefined);
});

test("a pod deleted by force is gone at once, and its address is free for others", async (t) => {
  const { server, cluster, clock, pod, until } = clusterStage(t);
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  const last = pod("a");
  server.delete(kinds.pod, { namespace: "default", name: "a" }, { graceSeconds: 0 });
  assert.equal(pod("a"), undefined);
  await clock.settle();
  assert.ok(last);
  await assert.rejects(cluster.runtime.exec(last, "web", ["true"], {} as never), /container not found/);
});

test("an idle cluster waits for nothing", async (t) => {
  const { server, cluster, clock, pod, until } = clusterStage(t);
  server.create(kinds.pod, podObject("a"), "test");
  await until(() => isRunningAndReady(pod("a")));
  await clock.settle();
  const before = cluster.counts.outcomes;
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(24 * 3_600_000);
  assert.deepEqual(cluster.counts.outcomes, before);
});
