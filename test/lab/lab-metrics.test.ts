import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { nodeName, places } from "../../lab/places.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { parseBytes, parseCpuMilli } from "../../src/market/quantity.ts";
import { checkMetrics } from "../support/contracts/kube-metrics.contract.ts";
import { eventually } from "../support/eventually.ts";
import { busyCommand, heldBytes } from "./busy.ts";
import { kubectl, labIsMissing, podStartsWithinMs, read, runPod, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

interface Metrics {
  readonly containers: readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
}

describe("the lab's metrics API", { skip: labIsMissing, concurrency: true }, () => {
  it("shows what a busy pod uses, and an idle one", async (t) => {
    const namespace = await temporaryNamespace(t);
    await Promise.all([
      runPod(namespace, "busy", { image: shellImage, command: busyCommand, resources: { limits: { cpu: "100m" } } }),
      runPod(namespace, "idle", { image: shellImage }),
    ]);
    const { group, version } = kinds.nodeMetrics;
    const usageOf = async (pod: string) => {
      const path = `/apis/${group}/${version}/namespaces/${namespace}/pods/${pod}`;
      const { cpu = "0", memory = "0" } = (await read<Metrics>(path)).containers[0]?.usage ?? {};
      return { cpuMilli: parseCpuMilli(cpu), memoryBytes: parseBytes(memory) };
    };
    const { memoryBytes } = await eventually(
      "its work to be measured",
      async () => {
        const usage = await usageOf("busy").catch(() => undefined);
        return usage !== undefined && usage.cpuMilli >= 50n && usage.memoryBytes >= heldBytes && usage;
      },
      podStartsWithinMs,
    );
    assert.ok(memoryBytes >= heldBytes && memoryBytes < 2n * heldBytes, `${memoryBytes}`);
    const kube = openKube(t, places.kubeconfig);
    await checkMetrics(kube, { namespace, name: "busy", labelSelector: "app=busy" });
    const idle = await eventually("the idle one to be measured", () => usageOf("idle"));
    assert.ok(
      idle.cpuMilli < 20n && idle.memoryBytes < 8n * 2n ** 20n,
      JSON.stringify(idle, (_, n) => `${n}`),
    );
  });

  it("answers kubectl top, for pods and for the node", async () => {
    assert.match(await kubectl("top", "pods", "-A"), /^kube-system +metrics-server-\S+ +\d+m +\d+Mi/m);
    assert.match(await kubectl("top", "nodes"), new RegExp(`^${nodeName} +\\d+m +\\d+% +\\d+Mi +\\d+%`, "m"));
  });
});
