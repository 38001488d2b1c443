import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shellImage, webImage } from "../../lab/images.ts";
import { eventually } from "../support/eventually.ts";
import { create, execute, labIsMissing, read, runPod, temporaryNamespace } from "./cluster.ts";

describe("names in the lab", { skip: labIsMissing, concurrency: true }, () => {
  it("a pod reaches a Service of its namespace by its bare name, and one elsewhere by its full name", async (t) => {
    const [here, elsewhere] = [await temporaryNamespace(t), await temporaryNamespace(t)];
    await Promise.all([
      runPod(here, "shell", { image: shellImage }),
      runPod(here, "near", { image: webImage }),
      runPod(elsewhere, "far", { image: webImage }),
    ]);
    await createService(here, "near", {});
    await createService(elsewhere, "far", {});

    const podOf = (host: string) => execute(here, "shell", "wget", "-qO-", `http://${host}:8080/cgi-bin/pod`);
    // CoreDNS and kube-proxy hear of a Service a moment after it is there.
    assert.equal(await eventually("the near page", () => podOf("near")), "near\n");
    const farName = `far.${elsewhere}.svc.cluster.local`;
    assert.equal(await eventually("the far page", () => podOf(farName)), "far\n");
  });

  it("a headless Service's name is the addresses of its pods", async (t) => {
    const namespace = await temporaryNamespace(t);
    await Promise.all([
      runPod(namespace, "shell", { image: shellImage }),
      runPod(namespace, "web", { image: webImage }),
    ]);
    await createService(namespace, "web", { clusterIP: "None" });
    const { status } = await read<{ status: { podIP: string } }>(`/api/v1/namespaces/${namespace}/pods/web`);

    const look = () => execute(namespace, "shell", "nslookup", `web.${namespace}.svc.cluster.local`);
    const answer = await eventually("the name", look);
    assert.deepEqual(
      [...answer.matchAll(/^Address: (\S+)$/gm)].map(([, address]) => address),
      [status.podIP],
    );
  });

  it("a name outside the cluster does not exist, and that is known at once", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "shell", { image: shellImage });
    const answer = await execute(namespace, "shell", "sh", "-c", "nslookup example.com 2>&1 || true");
    assert.match(answer, /NXDOMAIN/);
  });
});

async function createService(namespace: string, app: string, more: object): Promise<void> {
  await create(`/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: app },
    spec: { selector: { app }, ports: [{ port: 8080 }], ...more },
  });
}
