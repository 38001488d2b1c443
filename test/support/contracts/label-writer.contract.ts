/** What the label writer does to a node, on whatever API server: the simulated one and a real one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { labelKeys } from "../../../src/kube/node-labels.ts";
import { projectNode } from "../../../src/operators/inventory/accounting/watched-node.ts";
import { createLabelWriter } from "../../../src/operators/inventory/labels/label-writer.ts";
import type { NodeLabels } from "../../../src/operators/inventory/labels/wanted-labels.ts";
import { realClock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { realRandom } from "../../../src/runtime/random.ts";
import { eventually } from "../eventually.ts";
import type { Owner } from "../owner.ts";

export interface LabelStage {
  /** Writes as "akash-operator-inventory". */
  readonly kube: Kube;
  /** There, and used by no other test. */
  readonly node: string;
  /** Somebody else sets these labels; null removes one. */
  edit(manager: string, labels: Readonly<Record<string, string | null>>): Promise<void>;
}

export interface LabelContract {
  readonly name: string;
  readonly skip: false | string;
  open(owner: Owner): Promise<LabelStage>;
}

const model = labelKeys.gpuModel("h100");
const count = labelKeys.gpuCount({ vendor: "nvidia", model: "h100" });
const { node: ofUs, nvidiaPresent: present } = labelKeys;
const wanted = { [ofUs]: "true", [model]: "true", [count]: "8", [present]: "true" };
const networkOperator = "provider-services";

export function checkLabelWriter({ name, skip, open }: LabelContract): void {
  describe(`labels of nodes on ${name}`, { skip }, () => {
    test("are written once, and then cost nothing while they are right", async (t) => {
      const stage = await open(t);
      const { writer, carries, settled } = start(t, stage, () => wanted);
      await carries(wanted);
      await settled();
      const looks = () => writer.queue.counts.outcomes.done;
      const [before, { requests }] = [looks(), { ...stage.kube.counts }];
      writer.add(stage.node);
      await eventually("it to be looked at", () => looks() > before);
      assert.deepEqual([writer.counts.written, stage.kube.counts.requests], [1, requests]);
    });

    test("come back when they are removed or changed by hand, and foreign ones are never touched", async (t) => {
      const stage = await open(t);
      const { carries, live } = start(t, stage, () => wanted);
      await stage.edit("hand", { "example.com/rack": "7", "akash.network/storageclasses": "beta3" });
      await carries(wanted);
      await stage.edit("hand", { [model]: null });
      await carries(wanted);
      await stage.edit("hand", { [count]: "99" });
      await carries(wanted);
      const labels = await live();
      assert.deepEqual([labels["example.com/rack"], labels["akash.network/storageclasses"]], ["7", "beta3"]);
    });

    test("go when they no longer hold, down to the last", async (t) => {
      const stage = await open(t);
      let wish: NodeLabels = wanted;
      const { writer, carries } = start(t, stage, () => wish);
      await stage.edit("hand", { "example.com/rack": "7" });
      for (wish of [wanted, { [ofUs]: "true" }, {}]) {
        writer.add(stage.node);
        await carries(wish);
      }
      assert.equal(writer.counts.seized, 0);
    });

    test("of the network's own operator stay without a write while they hold", async (t) => {
      const stage = await open(t);
      await stage.edit(networkOperator, wanted);
      const { writer, carries, settled } = start(t, stage, () => wanted);
      await carries(wanted);
      await settled();
      assert.equal(writer.counts.written, 0);
    });

    test("of the network's own operator go when they no longer hold", async (t) => {
      const stage = await open(t);
      const old = labelKeys.gpuCount({ vendor: "nvidia", model: "a100" });
      await stage.edit(networkOperator, { [ofUs]: "true", [old]: "4", [present]: "true", [model]: "true" });
      const { writer, carries } = start(t, stage, () => ({ [ofUs]: "true", [model]: "true" }));
      await carries({ [ofUs]: "true", [model]: "true" });
      assert.equal(writer.counts.seized, 2);
    });

    test("of the network's own operator go also when we came to share them", async (t) => {
      const stage = await open(t);
      await stage.edit(networkOperator, { [ofUs]: "true", [model]: "true" });
      let wish: NodeLabels = wanted;
      const { writer, carries } = start(t, stage, () => wish);
      await carries(wanted);
      wish = {};
      writer.add(stage.node);
      await carries({});
    });

    test("of NVIDIA's own tools stay, also when we no longer want them", async (t) => {
      const stage = await open(t);
      await stage.edit("nfd-master", { [present]: "true" });
      let wish: NodeLabels = wanted;
      const { writer, carries, live, settled } = start(t, stage, () => wish);
      await carries(wanted);
      wish = {};
      writer.add(stage.node);
      await carries({ [present]: "true" });
      await settled();
      const { written } = writer.counts;
      writer.add(stage.node);
      await settled();
      assert.equal((await live())[present], "true");
      assert.equal(writer.counts.written, written);
    });

    test("are left alone while the desired labels are unknown", async (t) => {
      const stage = await open(t);
      await stage.edit(networkOperator, { [model]: "true" });
      const { writer, settled, live } = start(t, stage, () => undefined);
      writer.add(stage.node);
      await settled();
      assert.deepEqual([(await live())[model], writer.counts.written], ["true", 0]);
    });

    test("do not bring back a node that is deleted while they are being written", async (t) => {
      const stage = await open(t);
      const { kube, node } = stage;
      let deleted = false;
      const get: typeof kube.get = async (kind, at) => {
        const found = await kube.get(kind, at);
        if (!deleted) {
          deleted = true;
          await kube.delete(kinds.node, { name: node });
        }
        return found;
      };
      const { writer } = start(t, { ...stage, kube: { ...kube, get } }, () => wanted);
      await eventually("the write to be refused", () => writer.queue.counts.outcomes.failed === 1);
      await eventually("the node to be given up", () => writer.queue.counts.outcomes.done > 0);
      assert.equal(await kube.get(kinds.node, { name: node }), undefined);
    });
  });
}

export function start(owner: Owner, stage: LabelStage, wish: () => NodeLabels | undefined) {
  const { kube, node } = stage;
  const stop = new AbortController();
  const cache = kube.watch({
    kind: kinds.node,
    fieldSelector: `metadata.name=${node}`,
    project: projectNode,
    handle: ({ name }) => writer.add(name),
  });
  const writer = createLabelWriter({
    kube,
    clock: realClock,
    random: realRandom,
    log: silentLog,
    wanted: (name) => (name === node ? wish() : undefined),
    live: (name) => cache.get({ name })?.labels,
  });
  const running = writer.queue.run(stop.signal);
  owner.after(async () => {
    stop.abort();
    await running;
    await cache.close();
  });
  const live = async () => (await kube.get(kinds.node, { name: node }))?.metadata.labels ?? {};
  return {
    writer,
    live,
    /** Waits until the node carries these labels of ours, and no others of ours. */
    carries: (labels: NodeLabels) =>
      eventually(`the node to carry ${Object.keys(labels).length} labels`, async () => {
        const { labels: found } = projectNode({ metadata: { name: node, labels: await live() } });
        assert.deepEqual(found, labels);
        return true;
      }),
    /** Waits until the watch has shown the last write and the writer has nothing left to look at. */
    settled: () =>
      eventually("the writer to settle", async () => {
        const now = projectNode({ metadata: { name: node, labels: await live() } }).labels;
        assert.deepEqual(cache.get({ name: node })?.labels, now);
        return writer.queue.counts.ready + writer.queue.counts.running === 0;
      }),
  };
}
