import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { answering, openClient } from "../../../test/support/kube/kube-client.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { kinds } from "../kinds.ts";
import { kubePageObjects } from "./pages.ts";
import { kubeAnswerBytes } from "./requests.ts";
import type { Transport } from "./transport.ts";

/** A server under pressure that rejects every third page, in pages of a hundred. */
function stagePressed(owner: Owner, status: number) {
  const clock = createVirtualClock();
  const cluster = simulateKube(owner, { clock });
  for (let n = 0; n < 2_000; n += 1) {
    cluster.server.create(kinds.secret, { metadata: { namespace, name: `map-${n}` } }, "hand");
  }
  cluster.faults.smallPages(100);
  const inner = cluster.transport();
  const pages: string[] = [];
  const transport: Transport = {
    ...inner,
    send(request) {
      if (request.verb === "list") {
        pages.push(new URLSearchParams(request.path.split("?")[1]).get("continue") ?? "first");
        if (pages.length % 3 === 0) cluster.faults.reject({ status, verb: "list" });
      }
      return inner.send(request);
    },
  };
  const kube = openClient(transport, clock);
  owner.after(() => kube.close());
  return { clock, kube, pages };
}

for (const status of [429, 503]) {
  test(`a page that is rejected with ${status} is requested again, and no other`, async (t) => {
    const { clock, kube, pages } = stagePressed(t, status);
    const cache = kube.watch({ kind: kinds.secret, namespace, project: ({ metadata }) => metadata.name });
    await clock.advanceUntil(() => cache.ready, 60_000);
    assert.equal(cache.size, 2_000);
    assert.equal(cache.counts.lists, 1);
    assert.equal(new Set(pages).size, 20);
    assert.equal(pages.length, 29, "twenty pages, and a third as many rejections");
    pages.length = 0;
    const listed = kube.list(kinds.secret, { namespace });
    await clock.advance(60_000);
    assert.equal((await listed).length, 2_000);
    assert.equal(new Set(pages).size, 20);
  });
}

test("a list is read in pages of five hundred", async (t) => {
  const requested: (string | null)[] = [];
  const kube = stageAnswer(t, { metadata: { resourceVersion: "1" }, items: [] }, (path) => {
    requested.push(new URLSearchParams(path.split("?")[1]).get("limit"));
  });
  await kube.list(kinds.pod);
  assert.deepEqual(requested, ["500"]);
  assert.equal(kubePageObjects, 500);
});

test("a page that is larger than an answer may be is read in smaller ones, which grow again after it", async (t) => {
  const requested: number[] = [];
  const objects = Array.from({ length: 130 }, (_, n) => ({ metadata: { name: `${n}` } }));
  // The first ten are so large that no more than a dozen of them fit into an answer.
  const isTooMuch = (from: number, limit: number) => from < 10 && limit > 12;
  const kube = stageAnswer(t, (query) => {
    const [from, limit] = [Number(query.get("continue") ?? 0), Number(query.get("limit"))];
    requested.push(limit);
    if (isTooMuch(from, limit)) return Buffer.alloc(kubeAnswerBytes + 1, " ");
    const next = from + limit < objects.length ? { continue: String(from + limit) } : {};
    return { metadata: { resourceVersion: "1", ...next }, items: objects.slice(from, from + limit) };
  });
  assert.equal((await kube.list(kinds.pod)).length, objects.length);
  assert.deepEqual(requested, [500, 50, 5, 10, 20, 40, 80]);
});

test("a list without a version, as the metrics API has it, is a list too", async (t) => {
  const usage = { cpu: "1n", memory: "1Ki" };
  const kube = stageAnswer(t, { metadata: {}, items: [{ metadata: { name: "n1" }, usage }] });
  const [metrics, ...more] = await kube.list(kinds.nodeMetrics);
  assert.deepEqual(metrics?.["usage"], usage);
  assert.deepEqual(more, []);
});

test("nothing can be watched from a list without a version, and the watch says so", async (t) => {
  const kube = stageAnswer(t, { metadata: {}, items: [] });
  const cache = kube.watch({ kind: kinds.nodeMetrics, project: () => undefined });
  await eventually("the error", () => cache.error !== undefined);
  assert.match(cache.error?.message ?? "", /a list without a version/);
  assert.equal(cache.ready, false);
});

test("what has no items is not a list", async (t) => {
  const kube = stageAnswer(t, { metadata: { name: "n1", resourceVersion: "1" } });
  await assert.rejects(kube.list(kinds.node), (thrown) => ProviderError.is(thrown, "AKP_KUBE_ANSWER_MALFORMED"));
});

type Answer = object | ((query: URLSearchParams) => object);

/** A server that answers everything so. */
function stageAnswer(owner: Owner, answer: Answer, onPath: (path: string) => void = () => undefined) {
  const transport = answering((path) => {
    onPath(path);
    const said = typeof answer === "function" ? answer(new URLSearchParams(path.split("?")[1])) : answer;
    return [Buffer.isBuffer(said) ? said : Buffer.from(JSON.stringify(said))];
  });
  const kube = openClient(transport, createVirtualClock());
  owner.after(() => kube.close());
  return kube;
}
