import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { namespace, simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kinds } from "../kinds.ts";
import type { KubeObject } from "../kube.ts";

interface Seen {
  readonly name: string;
  readonly lease?: string;
}

function stage(owner: Owner) {
  const clock = createVirtualClock();
  const { server, faults, connect } = simulateKube(owner, { clock });
  const put = (name: string, lease?: string) =>
    server.apply(
      kinds.secret,
      { metadata: { namespace, name, labels: { ours: "", ...(lease && { lease }) } } },
      { manager: "hand" },
    );
  const remove = (name: string) => server.delete(kinds.secret, { namespace, name });
  const options = {
    kind: kinds.secret,
    labelSelector: "ours",
    project: ({ metadata: { name, labels = {} } }: KubeObject): Seen => ({ name, ...labels }),
  };
  return { clock, put, remove, faults, kube: connect("akash-provider"), options };
}

test("objects are found by the keys that they have now, through changes, deletions and relists", async (t) => {
  const { clock, put, remove, faults, kube, options } = stage(t);
  put("a", "1");
  put("b", "1");
  put("c", "2");
  put("d");
  const cache = kube.watch({ ...options, indexes: { lease: ({ lease }) => lease, name: ({ name }) => name } });
  await cache.synced();
  const names = () => ["1", "2", "3"].map((lease) => [...cache.by("lease", lease)].map(({ name }) => name).join());
  assert.deepEqual(names(), ["a,b", "c", ""]);
  assert.equal([...cache.by("name", "d")].length, 1);

  put("a", "2");
  put("d", "3");
  remove("b");
  await eventually("the deletion", () => cache.size === 3);
  assert.deepEqual(names(), ["", "c,a", "d"]);

  faults.cutWatches();
  put("a", "1");
  remove("c");
  faults.forgetPast();
  await clock.advanceUntil(() => cache.counts.relists > 0 && cache.size === 2, 60_000);
  assert.deepEqual(names(), ["a", "", "d"]);
});

test("an object that an index cannot read is reported and left as it was known", async (t) => {
  const { put, kube, options } = stage(t);
  put("a", "1");
  const cache = kube.watch({ ...options, indexes: { lease: ({ lease }) => lease ?? assert.fail("it has none") } });
  await cache.synced();
  put("a");
  await eventually("the failure", () => cache.counts.handlerErrors === 1);
  assert.equal([...cache.by("lease", "1")].length, 1);
  assert.equal(cache.error, undefined);
});
