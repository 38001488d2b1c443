/** `akash-provider adopt --dry-run` as it is given before a cluster changes hands: a process, a chain's node, an API server. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { formatLeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { eventually } from "../support/eventually.ts";
import { memoryFolder } from "../support/folder.ts";
import { deployAsGoProvider } from "../support/go-provider-objects.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import { startProgram } from "../support/program.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { onRealBidStage } from "../support/stages/bid-stage.ts";
import { machine, prepareCluster } from "../support/stages/lease-stage.ts";

test("adopt --dry-run shows what is kept, what changes and what has no place, and writes nothing", async (t) => {
  await onRealBidStage(t, async (stage) => {
    const { cluster, node, queries } = stage;
    const orders = [await stage.post(1n), await stage.post(2n)];
    for (const order of orders) await stage.rivalBid("one", order);
    const { address: provider } = stage.signer("one");
    const [runs, missing] = orders.map((order) => ({ ...order, provider, bseq: 0 }));
    assert.ok(runs && missing);
    await stage.accept(runs);
    await stage.accept(missing);

    prepareCluster(cluster);
    // As large as one replica of it, so that the lease of which there is nothing has no room beside it.
    const [unit] = cell().groups[0]?.units ?? [];
    cluster.nodes.addNode({ ...machine, cpuMilli: unit?.cpu.milli ?? 0n });
    const theirs = cluster.connect("provider-services");
    const [group] = cell().manifest;
    assert.ok(group);
    await deployAsGoProvider(theirs, { lease: runs, group, offer: [] });
    await theirs.create(kinds.namespace, { metadata: { name: "nobodys", labels: { "akash.network": "true" } } });
    const namespace = leaseNamespace(runs);
    const phaseOf = (pod: object) => (pod as { status?: { phase?: string } }).status?.phase;
    await eventually("its pod", () =>
      cluster.server.list(kinds.pod, { namespace }).some((pod) => phaseOf(pod) === "Running"),
    );

    const face = await startKubeHttpServer(t, cluster);
    const folder = memoryFolder(t);
    const key = join(folder, "provider.key");
    writeFileSync(key, `${Buffer.from(stage.secret("one")).toString("hex")}\n`, { mode: 0o600 });
    const settings = ["--node", node.rpcUrl, "--key-file", key, "--kubeconfig", face.writeKubeconfig(folder)];
    const hosts = ["--deployment-ingress-static-hosts", "--deployment-ingress-domain", "ingress.lab.test"];
    const sequence = async () => (await queries.account(provider)).value?.sequence;
    const before = await sequence();
    const program = startProgram(t, ["adopt", "--dry-run", ...settings, ...hosts]);
    assert.equal(await program.ended(), 4, program.said);
    const version = "metadata.labels.akash.network/manifest.resource.version (removed)";
    assert.deepEqual(program.said.replace(/height \d+/, "height …").split("\n"), [
      `${formatLeaseId(runs)}  ${namespace}`,
      "  keep    deployments.apps cell  1/1 pods",
      `  change  namespaces ${namespace}  metadata.labels.pod-security.kubernetes.io/enforce, ${version}`,
      `  change  networkpolicies.networking.k8s.io akash-deployment-restrictions  spec.ingress, ${version}`,
      `  change  services cell  spec.ports, ${version}`,
      `${formatLeaseId(missing)}  ${leaseNamespace(missing)}`,
      "  no place: the cluster has nothing of it: its tenant has to send the manifest",
      "  no place: its replicas have no room now: unit 1: no node has 100m of cpu free",
      "without a lease: namespace nobodys names no lease: left alone",
      "2 leases at height …: 1 workloads with 1 pods are kept as they run, 3 other objects change, 3 things have no place. Nothing was written.",
      "",
    ]);
    assert.deepEqual([...new Set(face.requests.map((each) => each.split(" ")[0]))], ["GET"]);
    assert.equal(await sequence(), before);
  });
});
