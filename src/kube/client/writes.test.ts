import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { createCountingBoundary } from "../../../test/support/counting-boundary.ts";
import { openClient } from "../../../test/support/kube/kube-client.ts";
import { configMap, rejection } from "../../../test/support/kube/kube-objects.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { realClock } from "../../runtime/clock.ts";
import { kinds } from "../kinds.ts";
import type { Transport } from "./transport.ts";

const at = { namespace, name: "map" };
const operations = [{ op: "add", path: "/metadata/finalizers/-", value: "example.com/hold" }] as const;

test("every write crosses a boundary before it and one after it; what is only tried crosses none", async (t) => {
  const { connect } = simulateKube(t);
  const boundary = createCountingBoundary();
  const kube = connect("akash-provider", { boundary });
  await kube.create(kinds.configMap, configMap(namespace, "map", {}), { dryRun: true });
  const made = await kube.create(kinds.configMap, configMap(namespace, "map", {}));
  await kube.replace(kinds.configMap, { ...made, data: { a: "1" } }, { dryRun: true });
  await kube.replace(kinds.configMap, { ...made, data: { a: "1" } });
  const remove = [{ op: "remove", path: "/data/a" }] as const;
  await kube.patch(kinds.configMap, at, remove, { dryRun: true });
  await kube.patch(kinds.configMap, at, remove);
  await kube.apply(kinds.configMap, configMap(namespace, "map", { b: "1" }), { dryRun: true });
  await kube.apply(kinds.configMap, configMap(namespace, "map", { b: "1" }));
  await kube.delete(kinds.configMap, at, { dryRun: true });
  await kube.delete(kinds.configMap, at);
  const writes = ["create", "replace", "patch", "apply", "delete"];
  assert.deepEqual(
    boundary.crossings,
    writes.flatMap((write) => [`kube ${write}:before`, `kube ${write}:after`]),
  );
});

test("a patch whose answer was lost is not sent again, and a replacement that is sent again finds its own version", async (t) => {
  const clock = createVirtualClock();
  const { connect, server, faults } = simulateKube(t, { clock });
  const kube = connect("akash-provider");
  const made = server.create(kinds.configMap, { metadata: { ...at, finalizers: ["example.com/first"] } });
  faults.loseAnswer({ verb: "patch" });
  await rejection(kube.patch(kinds.configMap, at, operations), "AKP_KUBE_UNREACHABLE");
  const finalizers = server.get(kinds.configMap, at)?.metadata.finalizers;
  assert.deepEqual(finalizers, ["example.com/first", "example.com/hold"], "once");
  assert.equal(kube.counts.retries, 0);

  const patched = server.get(kinds.configMap, at) ?? made;
  faults.loseAnswer({ verb: "update" });
  const replacing = rejection(kube.replace(kinds.configMap, { ...patched, data: { a: "1" } }), "AKP_KUBE_CONFLICT");
  await clock.advance(10_000);
  await replacing;
  assert.deepEqual(server.get(kinds.configMap, at)?.["data"], { a: "1" });
});

test("an apply that an admission webhook does not let us try is left to the write itself", async (t) => {
  const cluster = simulateKube(t);
  const inner = cluster.transport();
  const message = 'admission webhook "old.example.com" does not support dry run';
  const status = { kind: "Status", code: 400, reason: "BadRequest", message };
  const transport: Transport = {
    ...inner,
    async send(request) {
      if (!request.path.includes("dryRun=All")) return inner.send(request);
      const body = Readable.from([Buffer.from(JSON.stringify(status))]);
      return { status: 400, headers: {}, body, peer: await inner.peer() };
    },
  };
  const kube = openClient(transport, realClock);
  t.after(() => kube.close());
  const desired = configMap(namespace, "map", {});
  const { written, object } = await kube.apply(kinds.configMap, desired, { dryRun: true });
  assert.deepEqual([written, object], [true, undefined]);
  await rejection(kube.create(kinds.configMap, desired, { dryRun: true }), "AKP_KUBE_REFUSED");
});

test("what an admission webhook repeats of a tenant's secrets is in no error, and cannot make another one of it", async (t) => {
  const inner = simulateKube(t).transport();
  // Of each secret the whole, and of a long one what was left of it; the words are those by which rejections are distinguished.
  const secrets = ["hunter22", "details", "message", "long ".repeat(1_000)];
  const message = `admission webhook "rules.example.com" denied the request: ${secrets.join(", ")}`;
  const causes = [{ reason: "NamespaceTerminating", message, field: "spec" }];
  const status = { kind: "Status", code: 403, reason: "Forbidden", message, details: { name: "map", causes } };
  const transport: Transport = {
    ...inner,
    async send() {
      const body = Readable.from([Buffer.from(JSON.stringify(status))]);
      return { status: 403, headers: { warning: '299 - "hunter22 is short"' }, body, peer: await inner.peer() };
    },
  };
  const kube = openClient(transport, realClock);
  t.after(() => kube.close());
  const env = secrets.map((value, at) => ({ name: `NAME${at}`, value }));
  const desired = { metadata: at, spec: { template: { spec: { containers: [{ name: "web", env }] } } } };
  const { message: reported, details } = await rejection(
    kube.apply(kinds.deployment, desired, { live: null }),
    "AKP_KUBE_TERMINATING",
  );
  assert.match(reported, /denied the request: \[redacted\], \[redacted\], \[redacted\], \[redacted\]$/);
  assert.doesNotMatch(JSON.stringify(details), /hunter|long/);
});
