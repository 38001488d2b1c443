/** The logs of a lease from a real kubelet, over an API server that goes away and containers that start again. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { apiServer, network, places } from "../../lab/places.ts";
import { createLeasePods } from "../../src/cluster/capacity/reservations/lease-watches.ts";
import { createLeaseLogs, createPodNews } from "../../src/cluster/leases/tenant-pods/lease-logs.ts";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { managedSelector, serviceLabel } from "../../src/kube/objects/lease-labels.ts";
import type { Address } from "../../src/market/address.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { startProxy } from "../support/cuttable-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { create, labIsMissing, removeNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";

/** Counts on where the process before it stopped, and ends after so many lines. */
const counting = (lines: number) => `n=$(cat /kept/n 2>/dev/null || echo 0); end=$((n+${lines}))
while [ $n -lt $end ]; do echo "line $n"; n=$((n+1)); echo $n >/kept/n; sleep 0.02; done; exit 1`;

async function stage(t: TestContext) {
  const lease = {
    ...{ owner: "akash1tenant" as Address, provider: "akash1provider" as Address },
    ...{ dseq: BigInt(randomInt(2 ** 40)), gseq: 1, oseq: 1, bseq: 0 },
  };
  const namespace = leaseNamespace(lease);
  await create("/api/v1/namespaces", { metadata: { name: namespace } });
  t.after(() => removeNamespace(namespace));
  const wire = await startProxy(t, network.apiPort, network.node);
  const kubeconfig = join(temporaryFolder(t), "kubeconfig");
  writeFileSync(
    kubeconfig,
    readFileSync(places.kubeconfig, "utf8").replace(apiServer, `https://127.0.0.1:${wire.port}`),
  );
  const kube = openKube(t, kubeconfig);
  const pods = createLeasePods(kube);
  const logs = createLeaseLogs(kube, pods, createPodNews(pods));
  const stop = new AbortController();
  await pods.open({ signal: stop.signal, onStop: () => undefined });

  async function run(service: string, name: string, script: string): Promise<void> {
    const [label = "", value = ""] = managedSelector.split("=");
    const metadata = { namespace, name, labels: { [label]: value, [serviceLabel]: service } };
    const volumeMounts = [{ name: "kept", mountPath: "/kept" }];
    const containers = [{ name: service, image: shellImage, command: ["/bin/sh", "-c", script], volumeMounts }];
    const spec = { containers, volumes: [{ name: "kept", emptyDir: {} }], terminationGracePeriodSeconds: 1 };
    await eventually("the pod to be accepted", () => kube.apply(kinds.pod, { metadata, spec }));
  }

  const direct = openKube(t, places.kubeconfig);
  /** As the kubelet counts them, by another way than the wire. */
  async function restarts(name: string): Promise<number> {
    const pod = await direct.get(kinds.pod, { namespace, name });
    const [status] = recordsOf(fieldsOf(pod?.["status"])["containerStatuses"]);
    return Number(status?.["restartCount"] ?? 0);
  }

  const lines: string[] = [];
  const following = (async () => {
    const options = { services: undefined, follow: true, tail: undefined, signal: stop.signal };
    for await (const batch of logs.logs(lease, options)) lines.push(...batch.map(({ pod, text }) => `${pod}: ${text}`));
  })();
  const of = (pod: string) => lines.filter((line) => line.startsWith(`${pod}: `));
  const reaches = (pod: string, count: number) =>
    eventually(`${count} lines of ${pod}`, () => of(pod).length >= count, 90_000);
  const end = async () => {
    stop.abort();
    await following;
  };
  return { wire, run, restarts, of, reaches, end };
}

describe("the logs of a lease", { skip: labIsMissing }, () => {
  it("come each line once through cuts, an API server that is away, and processes that end meanwhile", async (t) => {
    const { wire, run, restarts, of, reaches, end } = await stage(t);
    await run("web", "web-0", counting(150));
    await reaches("web-0", 50);
    wire.cut();
    await reaches("web-0", 110);
    // Its first process ends, and the second begins, while the API server is down.
    wire.target = undefined;
    wire.cut();
    await eventually("the second process", async () => (await restarts("web-0")) > 0, 90_000);
    wire.target = network.apiPort;
    // The third comes after a pause of the kubelet; what is new is found meanwhile.
    await run("api", "api-0", counting(100_000));
    await reaches("web-0", 330);
    await reaches("api-0", 50);
    await end();
    for (const pod of ["web-0", "api-0"]) {
      const wrong = of(pod).findIndex((line, index) => line !== `${pod}: line ${index}`);
      assert.equal(wrong, -1, `around line ${wrong}: ${of(pod).slice(Math.max(0, wrong - 3), wrong + 5)}`);
    }
  });
});
