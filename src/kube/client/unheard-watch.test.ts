/** Watches that a server accepts, and on which nothing of what happens gets through. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { openClient } from "../../../test/support/kube/kube-client.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kinds } from "../kinds.ts";
import { kubeEventBytes } from "./list-watch.ts";
import type { Transport } from "./transport.ts";

/** A watch of secrets whose every stream is such a body, until it is fixed. */
async function stage(owner: Owner, body: () => Readable) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock });
  const inner = cluster.transport();
  let isBroken = false;
  let requested = 0;
  const transport: Transport = {
    ...inner,
    async send(request) {
      if (!isBroken || request.verb !== "watch") return inner.send(request);
      requested += 1;
      assert.ok(requested < 10_000, "requested without a pause");
      return { status: 200, headers: {}, body: body(), peer: await inner.peer() };
    },
  };
  const kube = openClient(transport, clock);
  owner.after(() => kube.close());
  const cache = kube.watch({ kind: kinds.secret, namespace, project: ({ metadata }) => metadata.name });
  await clock.advanceUntil(() => cache.counts.connections === 1, 1_000);
  isBroken = true;
  cluster.faults.cutWatches();
  cluster.server.create(kinds.secret, { metadata: { namespace, name: "new" } }, "hand");
  return { clock, cache };
}

test("an event that is longer than any may be leads to a list, not to the same event for ever", async (t) => {
  const { clock, cache } = await stage(t, () => Readable.from([Buffer.alloc(kubeEventBytes + 1, "x")]));
  await clock.advance(10_000);
  assert.deepEqual([...cache.list()], ["new"]);
});

test("watches that are accepted and then cut, one after the other, lead to a list", async (t) => {
  const cut = () =>
    new Readable({ read: () => undefined }).destroy(Object.assign(new Error("cut"), { code: "ECONNRESET" }));
  const { clock, cache } = await stage(t, cut);
  await clock.advance(60_000);
  assert.deepEqual([...cache.list()], ["new"]);
});

const news = { type: "ADDED", object: { metadata: { namespace, name: "news", uid: "1", resourceVersion: "1" } } };
const gone = { type: "ERROR", object: { code: 410 } };

for (const [what, events] of Object.entries({
  "brings one thing and ends": [news],
  "brings one thing and fails": [news, gone],
  "brings what is no object": [{ type: "ADDED", object: null }],
})) {
  test(`a server whose every watch ${what}, at once, is not requested without a pause`, async (t) => {
    const lines = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    const { clock, cache } = await stage(t, () => Readable.from([lines]));
    await clock.advance(60_000);
    assert.ok(cache.counts.connections < 500, `${cache.counts.connections} connections in a minute`);
  });
}

test("the longest object that etcd takes comes through a watch, also where the server writes six characters for one", () => {
  const etcdBytes = 1.5 * 1024 * 1024;
  assert.ok(kubeEventBytes > 6 * etcdBytes);
});
