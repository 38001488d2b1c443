import assert from "node:assert/strict";
import { test } from "node:test";
import { createHttpKube } from "../src/kube/http/http-kube.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { startFakeApi } from "./fake-apiserver.ts";
import { temporaryFolder } from "./folder.ts";
import { checkLabelWriter, type LabelStage, start } from "./label-writer.contract.ts";
import type { Owner } from "./owner.ts";

async function open(owner: Owner) {
  const api = await startFakeApi(owner);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const deps = { clock: realClock, random: realRandom, log: silentLog };
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-operator-inventory" }, deps);
  owner.after(() => kube.close());
  const node = "a";
  api.put("nodes", { metadata: { name: node } }, "kubelet");
  const edit: LabelStage["edit"] = async (manager, changes) => {
    const [before] = api.objects("nodes");
    assert.ok(before);
    const labels = Object.entries({ ...before.metadata.labels, ...changes }).filter(([, value]) => value !== null);
    const metadata = { ...before.metadata, labels: Object.fromEntries(labels) as Record<string, string> };
    api.put("nodes", { ...before, metadata }, manager);
  };
  return { api, kube, node, edit };
}

checkLabelWriter({ name: "a small API server", skip: false, open });

test("a write that is refused is tried again", async (t) => {
  const stage = await open(t);
  stage.api.refuse({ status: 403, only: "PATCH /api/v1/nodes/a" });
  const { writer, carries } = start(t, stage, () => ({ "akash.network": "true" }));
  await carries({ "akash.network": "true" });
  assert.equal(writer.counts.queue.outcomes.failed, 1);
});
