import assert from "node:assert/strict";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { namespace, simulateKube } from "../../../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../../../test/support/owner.ts";
import { createVirtualClock } from "../../../../../test/support/virtual-clock.ts";
import { kinds } from "../../../../kube/kinds.ts";
import { simulatedHistory } from "../store.ts";
import { simulatedWatchBytes } from "./watches.ts";

const collection = `/api/v1/namespaces/${namespace}/configmaps`;

/** What requests are answered, before any client makes something of it. */
async function stage(owner: Owner) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock });
  // What the cluster puts into a namespace by itself is there from now on.
  await clock.settle();
  const transport = cluster.transport();
  async function ask(method: string, path: string, body?: unknown, type = "application/json") {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { "content-type": type };
    return transport.send({ method, path, headers, body: text, verb: method, resource: path });
  }
  async function json(method: string, path: string, body?: unknown, type?: string) {
    const answer = await ask(method, path, body, type);
    const chunks = await answer.body.toArray();
    return { status: answer.status, headers: answer.headers, body: JSON.parse(Buffer.concat(chunks).toString()) };
  }
  const put = (name: string, n: string) => {
    const object = { metadata: { namespace, name }, data: { n } };
    const isThere = cluster.server.get(kinds.configMap, object.metadata) !== undefined;
    return isThere
      ? cluster.server.update(kinds.configMap, object, "hand")
      : cluster.server.create(kinds.configMap, object, "hand");
  };
  return { clock, cluster, ask, json, put };
}

interface Page {
  readonly items: readonly { metadata: { name: string }; data?: { n?: string } }[];
  readonly metadata: { continue?: string; resourceVersion: string };
}

const shown = ({ items }: Page) => items.map(({ metadata, data }) => `${metadata.name} ${data?.n ?? ""}`);

test("all pages of a list show one version, whatever changes between them", async (t) => {
  const { json, put, cluster } = await stage(t);
  for (const name of ["a", "b", "c", "d"]) put(name, "1");
  const first: Page = (await json("GET", `${collection}?limit=2`)).body;
  assert.deepEqual(shown(first), ["a 1", "b 1"]);
  put("c", "2");
  put("bb", "2");
  cluster.server.delete(kinds.configMap, { namespace, name: "d" });
  const next = `${collection}?limit=2&continue=${first.metadata.continue}`;
  const second: Page = (await json("GET", next)).body;
  assert.deepEqual(shown(second), ["c 1", "d 1"]);
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  cluster.faults.forgetPast();
  const gone = await json("GET", next);
  assert.equal(gone.status, 410);
  assert.equal(gone.body.reason, "Expired");
  assert.equal((await json("GET", `${collection}?limit=2&continue=nonsense`)).status, 400);
});

async function linesOf(
  body: Readable,
): Promise<{ type: string; object: { code?: number; metadata: { name: string } } }[]> {
  const text = Buffer.concat(await body.toArray()).toString();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test("a watch sends changes since its version, all objects without a version, and 410 for a forgotten version", async (t) => {
  const { ask, put, cluster } = await stage(t);
  const { resourceVersion } = put("a", "1").metadata;
  put("b", "1");
  cluster.server.delete(kinds.configMap, { namespace, name: "a" });
  const watch = (version: string) => ask("GET", `${collection}?watch=1&resourceVersion=${version}`);
  const eventsSince = async (version: string) => {
    const { body } = await watch(version);
    cluster.faults.endWatches();
    return (await linesOf(body)).map(({ type, object }) => `${type} ${object.metadata.name ?? object.code}`);
  };
  assert.deepEqual(await eventsSince(resourceVersion ?? ""), ["ADDED b", "DELETED a"]);
  assert.deepEqual(await eventsSince("0"), ["ADDED b", "ADDED kube-root-ca.crt"]);
  for (let n = 0; n < 2 * simulatedHistory; n += 1) put("b", String(n));
  const { body } = await watch(resourceVersion ?? "");
  const [line] = await linesOf(body);
  assert.equal(line?.type, "ERROR");
  assert.equal(line?.object.code, 410);
});

test("a quiet watch gets a bookmark every minute, and once more before it ends", async (t) => {
  const { ask, clock, put } = await stage(t);
  const { resourceVersion } = put("a", "1").metadata;
  const wishes = `watch=1&resourceVersion=${resourceVersion}&allowWatchBookmarks=true&timeoutSeconds=100`;
  const { body } = await ask("GET", `${collection}?${wishes}`);
  await clock.advance(99_000);
  assert.equal(body.readableEnded, false);
  await clock.advance(2_000);
  assert.deepEqual(
    (await linesOf(body)).map(({ type }) => type),
    ["BOOKMARK", "BOOKMARK"],
  );
});

test("a write with an old version is a conflict, and one that changes nothing is none", async (t) => {
  const { json, put } = await stage(t);
  const before = put("a", "1");
  const now = put("a", "2");
  const stale = await json("PUT", `${collection}/a`, before);
  assert.equal(stale.status, 409);
  assert.match(stale.body.message, /the object has been modified/);
  const same = await json("PUT", `${collection}/a`, now);
  assert.equal(same.body.metadata.resourceVersion, now.metadata.resourceVersion);
});

test("a patch takes a field away with null", async (t) => {
  const { json, put } = await stage(t);
  put("a", "1");
  const patch = { data: { n: null, more: "1" } };
  const { body } = await json("PATCH", `${collection}/a?fieldManager=me`, patch, "application/merge-patch+json");
  assert.deepEqual(body.data, { more: "1" });
});

test("an overloaded server answers 429 with Retry-After", async (t) => {
  const { json, cluster } = await stage(t);
  cluster.faults.reject({ status: 429, retryAfterSeconds: 3 });
  const rejected = await json("GET", collection);
  assert.equal(rejected.status, 429);
  assert.equal(rejected.headers["retry-after"], "3");
  assert.equal((await json("GET", collection)).status, 200);
});

test("faults are of the requests that they name, and as many as were wished", async (t) => {
  const { json, cluster } = await stage(t);
  cluster.faults.reject({ status: 503, verb: "list", kind: kinds.secret, times: 2 });
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  assert.equal((await json("GET", collection)).status, 200);
  const statuses = [];
  for (let n = 0; n < 3; n += 1) statuses.push((await json("GET", secrets)).status);
  assert.deepEqual(statuses, [503, 503, 200]);
});

test("a slow reader of a watch is cut off and can resume", async (t) => {
  const { ask, put } = await stage(t);
  const { resourceVersion } = put("map", "1").metadata;
  const { body } = await ask("GET", `${collection}?watch=1&resourceVersion=${resourceVersion}`);
  const long = "x".repeat(simulatedWatchBytes / 128);
  for (let n = 0; n < 160; n += 1) put(`map-${n}`, `${long}${n}`);
  const events = body.resume();
  await once(events, "end");
  assert.ok(body.readableEnded);
});
