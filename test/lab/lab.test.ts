import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { callApi } from "../../lab/api.ts";
import { logsImage, shellImage, webImage } from "../../lab/images.ts";
import { status } from "../../lab/lab.ts";
import { places } from "../../lab/places.ts";
import { eventually } from "../eventually.ts";
import { create, kubectl, labIsMissing, read, temporaryNamespace } from "./cluster.ts";

/** Pulling nothing and starting busybox takes two seconds; a busy machine takes longer. */
const podStartsWithinMs = 60_000;

// All at once: a namespace takes five seconds to go, and there is no need to wait for each in turn.
describe("the lab", { skip: labIsMissing, concurrency: true }, () => {
  it("is a Kubernetes 1.34 whose components are all ready", async () => {
    assert.equal((await read<{ gitVersion: string }>("/version")).gitVersion, "v1.34.4");
    const { components, nodeReady } = await status();
    assert.deepEqual(
      components.filter(({ ready }) => !ready),
      [],
    );
    assert.equal(nodeReady, true);
  });

  it("stays as it is when it is brought up again", async () => {
    assert.equal((await status()).up, true);
    const pids = async () => (await status()).components.map(({ name, pid }) => `${name} ${pid}`);
    const first = await pids();
    execFileSync(process.execPath, [join(import.meta.dirname, "../../lab/main.ts"), "up"]);
    assert.deepEqual(await pids(), first);
  });

  it("runs a web server that answers over its Service, to the node and to another pod", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "web", webImage);
    await runPod(namespace, "shell", shellImage);
    await create(`/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    const service = await read<{ spec: { clusterIP: string } }>(`/api/v1/namespaces/${namespace}/services/web`);
    const url = `http://${service.spec.clusterIP}`;

    // kube-proxy writes its rules a moment after the endpoint is there.
    const page = await eventually("the page from the node", async () => (await fetch(url)).text(), podStartsWithinMs);
    assert.equal(page, "hello from the lab\n");
    const seenByPod = await kubectl("exec", "-n", namespace, "shell", "--", "wget", "-qO-", `${url}/cgi-bin/pod`);
    assert.equal(seenByPod, "web\n");
  });

  it("hands a container's log to whoever may read it", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "logs", logsImage, [{ name: "INTERVAL_S", value: "0.1" }]);
    const lines = await eventually("three lines", async () => {
      const { body } = await callApi(`/api/v1/namespaces/${namespace}/pods/logs/log`);
      return body.includes("line 3\n") && body;
    });
    assert.match(lines, /^line 1\nline 2\nline 3\n/);
  });

  it("runs a command in a container and brings back how it ended", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "shell", shellImage);
    await assert.rejects(kubectl("exec", "-n", namespace, "shell", "--", "sh", "-c", "exit 7"), { code: 7 });
  });

  it("writes down who asked the API server for what", async (t) => {
    const namespace = await temporaryNamespace(t);
    const entry = await eventually("the audit entry", () => {
      const lines = readFileSync(places.auditLog, "utf8").trimEnd().split("\n");
      // Entries are appended in pieces; the last line may not be whole yet.
      const whole = lines.filter((line) => line.endsWith("}") && line.includes(namespace));
      return whole.map((line) => JSON.parse(line)).find(({ objectRef }) => objectRef?.resource === "namespaces");
    });
    assert.equal(entry.verb, "create");
    assert.equal(entry.user.username, "admin");
  });
});

/** Waits until its containers are ready. */
async function runPod(namespace: string, name: string, image: string, env: object[] = []): Promise<void> {
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  // The namespace's service account comes a moment after the namespace, and no pod may be made without it.
  await eventually("the pod to be accepted", async () => {
    const container = { name: "main", image, env };
    // A second to end in: the shell's trap needs none, and tests should not wait for thirty.
    const spec = { containers: [container], terminationGracePeriodSeconds: 1 };
    await create(pods, { metadata: { name, labels: { app: name } }, spec });
    return true;
  });
  await eventually(
    `${name} to be ready`,
    async () => {
      const pod = await read<{ status: { conditions?: { type: string; status: string }[] } }>(`${pods}/${name}`);
      return pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    },
    podStartsWithinMs,
  );
}
