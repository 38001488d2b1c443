/** Laws of server-side apply that hold for any managers, objects and orders. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "../../../../test/support/runs.ts";
import { createSeededRandom } from "../../../../test/support/seeded-random.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { equal } from "./fields/equal.ts";
import { StatusError } from "./objects/status-error.ts";
import { servedOf } from "./served-kinds.ts";
import { createServer } from "./server.ts";

const at = { namespace: "lease", name: "web" };
const selector = { matchLabels: { app: "web" } };

const anyContainer = fc.record(
  {
    name: fc.constantFrom("web", "side"),
    image: fc.constantFrom("a:1", "b:1"),
    args: fc.array(fc.constantFrom("x", "y"), { minLength: 1, maxLength: 2 }),
    env: fc.uniqueArray(fc.record({ name: fc.constantFrom("A", "B", "C"), value: fc.constantFrom("1", "2") }), {
      selector: ({ name }) => name,
      minLength: 1,
    }),
  },
  { requiredKeys: ["name", "image"] },
);

const anyWish = fc
  .record({
    // Not empty: who wishes for no labels at all owns the field of which nothing is left, and loses it again.
    labels: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("1", "2"), { minKeys: 1, maxKeys: 3 }),
    replicas: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    containers: fc.uniqueArray(anyContainer, { selector: ({ name }) => name, minLength: 1 }),
  })
  .map(({ labels, replicas, containers }): KubeObject => {
    const template = { metadata: { labels: { app: "web" } }, spec: { containers } };
    return {
      metadata: { ...at, labels },
      spec: { selector, template, ...(replicas === undefined ? {} : { replicas }) },
    };
  });

const anySteps = fc.array(fc.record({ manager: fc.constantFrom("one", "two", "three"), wish: anyWish }), {
  minLength: 1,
  maxLength: 8,
});

function stage() {
  const server = createServer({ clock: createVirtualClock(), random: createSeededRandom(1) });
  server.create(servedOf(server.served, kinds.namespace), { metadata: { name: at.namespace } }, { manager: "test" });
  const deployments = servedOf(server.served, kinds.deployment);
  return (manager: string, wish: KubeObject) => server.apply(deployments, wish, { manager, force: true });
}

/** Undefined if rejected because the image's owner dropped it while another manager still applies the container. */
function applyUnlessImageMissing(
  apply: ReturnType<typeof stage>,
  manager: string,
  wish: KubeObject,
): KubeObject | undefined {
  try {
    return apply(manager, wish);
  } catch (thrown) {
    if (thrown instanceof StatusError && /image: Required value/.test(thrown.message)) return undefined;
    throw thrown;
  }
}

/** Whether everything in the wish is so in the object; elements of lists are found by name. */
function fulfils(object: unknown, wish: unknown): boolean {
  if (Array.isArray(wish) && wish.every(isRecord)) {
    const list = Array.isArray(object) ? object.filter(isRecord) : [];
    return wish.every((each) => list.some((live) => live["name"] === each["name"] && fulfils(live, each)));
  }
  if (!isRecord(wish)) return equal(object, wish);
  return isRecord(object) && Object.entries(wish).every(([name, value]) => fulfils(object[name], value));
}

test("after a forced apply the object has all applied fields, and repeating the apply changes nothing", () => {
  const property = fc.property(anySteps, (steps) => {
    const apply = stage();
    for (const { manager, wish } of steps) {
      const object = applyUnlessImageMissing(apply, manager, wish);
      if (!object) continue;
      assert.ok(fulfils(object, wish), JSON.stringify(object));
      assert.equal(apply(manager, wish).metadata.resourceVersion, object.metadata.resourceVersion);
    }
  });
  fc.assert(property, { numRuns: runs(50, 2_000) });
});

test("fields that no manager applies any more are removed, and server defaults stay", () => {
  const property = fc.property(anySteps, anyWish, (steps, last) => {
    const apply = stage();
    for (const { manager, wish } of steps) applyUnlessImageMissing(apply, manager, wish);
    const bare: KubeObject = {
      metadata: at,
      spec: { selector, template: { metadata: { labels: selector.matchLabels } } },
    };
    const others = ["two", "three"];
    const all = [["one", last], ...others.map((manager) => [manager, bare])] as [string, KubeObject][];
    fc.pre(all.every(([manager, wish]) => applyUnlessImageMissing(apply, manager, wish)));
    const object = apply("one", last);
    const fresh = stage()("one", last);
    assert.deepEqual(object["spec"], fresh["spec"]);
    assert.deepEqual(object.metadata.labels, fresh.metadata.labels);
  });
  fc.assert(property, { numRuns: runs(50, 2_000) });
});
