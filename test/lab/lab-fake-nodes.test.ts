import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { nodeName } from "../../lab/places.ts";
import { eventually } from "../support/eventually.ts";
import { fakeNodes, labIsMissing, read, runPod, temporaryNamespace } from "./cluster.ts";

interface Pod {
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly phase: string; readonly hostIP: string };
}

describe("fake nodes in the lab", { skip: labIsMissing, concurrency: true }, () => {
  it("say that they run the pods put there, and no real pod lands on them", async (t) => {
    const namespace = await temporaryNamespace(t);
    const nodes = await fakeNodes(t, 20);
    await Promise.all(nodes.map((node) => runPod(namespace, node, { image: "lab.invalid/none:1", nodeName: node })));
    await runPod(namespace, "real", { image: shellImage });

    const pod = (name: string) => read<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
    for (const node of nodes) assert.equal((await pod(node)).status.phase, "Running");
    assert.equal((await pod("real")).spec.nodeName, nodeName);
  });

  it("leave the real node to its kubelet", async (t) => {
    const before = await kubeletHeartbeat();
    await fakeNodes(t, 1);
    const node = await read<{ metadata: { annotations: Record<string, string> } }>(`/api/v1/nodes/${nodeName}`);
    assert.equal(node.metadata.annotations["kwok.x-k8s.io/node"], undefined);
    await eventually("the kubelet's next heartbeat", async () => (await kubeletHeartbeat()) !== before);
  });
});

async function kubeletHeartbeat(): Promise<string> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;
  return (await read<{ spec: { renewTime: string } }>(path)).spec.renewTime;
}
