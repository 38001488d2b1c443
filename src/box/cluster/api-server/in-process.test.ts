import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { kinds } from "../../../kube/kinds.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { ServerEvent } from "./in-process.ts";
import { createPartsServer } from "./in-process.ts";
import { createServer } from "./server.ts";

const at = { namespace: "lease", name: "web" };

function stage() {
  const server = createPartsServer(createServer({ clock: createVirtualClock(), random: createSeededRandom(1) }));
  server.create(kinds.namespace, { metadata: { name: "lease" } }, "test");
  const events: string[] = [];
  server.subscribe(
    ({ type, kind, object }: ServerEvent) => void events.push(`${type} ${kind.plural} ${object.metadata.name}`),
  );
  const containers = [{ name: "web", image: "a:1" }];
  const makePod = (spec: object) => server.create(kinds.pod, { metadata: at, spec: { containers, ...spec } }, "test");
  return { server, events, makePod };
}

test("a pod that runs is only marked, and goes when its kubelet deletes it without grace", () => {
  const { server, events, makePod } = stage();
  const pod = makePod({ nodeName: "one", terminationGracePeriodSeconds: 20 });
  assert.equal(server.delete(kinds.pod, at), true);
  const marked = server.get(kinds.pod, at)?.metadata;
  assert.equal(marked?.deletionTimestamp, "2026-01-01T00:00:20Z");
  assert.equal(marked?.generation, (pod.metadata.generation ?? 0) + 1);
  server.delete(kinds.pod, at, { graceSeconds: 5 });
  assert.equal(server.get(kinds.pod, at)?.metadata.deletionTimestamp, "2026-01-01T00:00:05Z");
  server.delete(kinds.pod, at, { graceSeconds: 0 });
  assert.equal(server.get(kinds.pod, at), undefined);
  assert.equal(server.delete(kinds.pod, at), false);
  assert.deepEqual(events, ["added pods web", "modified pods web", "modified pods web", "deleted pods web"]);
});

test("a pod that runs nowhere goes at once", () => {
  const { server, makePod } = stage();
  makePod({});
  server.delete(kinds.pod, at);
  assert.equal(server.get(kinds.pod, at), undefined);
});

test("a pod gets its node once, without becoming another generation", () => {
  const { server, makePod } = stage();
  const pod = makePod({});
  const spec = { ...(pod["spec"] as object), nodeName: "one" };
  const bound = server.update(kinds.pod, { ...pod, spec }, "kube-scheduler");
  assert.equal(bound.metadata.generation, pod.metadata.generation);
  const moved = { ...bound, spec: { ...spec, nodeName: "two" } };
  assert.throws(
    () => server.update(kinds.pod, moved, "kube-scheduler"),
    (thrown) => ProviderError.is(thrown, "AKP_KUBE_REFUSED"),
  );
});

test("the status is replaced alone, and an old version is a conflict", () => {
  const { server, makePod } = stage();
  const pod = makePod({ nodeName: "one" });
  const status = { phase: "Running" };
  const running = server.updateStatus(kinds.pod, { ...pod, spec: {}, status }, "kubelet");
  assert.deepEqual(running["spec"], pod["spec"]);
  assert.deepEqual(running["status"], status);
  assert.throws(
    () => server.updateStatus(kinds.pod, { ...pod, status: { phase: "Failed" } }, "kubelet"),
    (thrown) => ProviderError.is(thrown, "AKP_KUBE_CONFLICT"),
  );
});

test("a namespace goes when the one who cleared it says so", () => {
  const { server } = stage();
  server.delete(kinds.namespace, { name: "lease" });
  assert.deepEqual(server.get(kinds.namespace, { name: "lease" })?.["status"], { phase: "Terminating" });
  server.delete(kinds.namespace, { name: "lease" }, { graceSeconds: 0 });
  assert.equal(server.get(kinds.namespace, { name: "lease" }), undefined);
});
