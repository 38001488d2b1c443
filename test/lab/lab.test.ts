import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { callApi } from "../../lab/api.ts";
import { auditedSince, isWrite, markAudit } from "../../lab/audit.ts";
import { ctr } from "../../lab/containerd.ts";
import { busybox, logsImage, shellImage, webImage } from "../../lab/images.ts";
import { importImage } from "../../lab/import-image.ts";
import { status } from "../../lab/lab.ts";
import { eventually } from "../support/eventually.ts";
import {
  create,
  execute,
  labIsMissing,
  outputOf,
  podStartsWithinMs,
  read,
  runPod,
  temporaryNamespace,
} from "./cluster.ts";

// All at once: a namespace takes five seconds to go, and there is no need to wait for each in turn.
describe("the lab", { skip: labIsMissing, concurrency: true }, () => {
  it("is a Kubernetes 1.34 whose components are all ready", async () => {
    assert.equal((await read<{ gitVersion: string }>("/version")).gitVersion, "v1.34.4");
    // On a busy machine one may miss a probe, and is back with the next.
    await eventually("everything to be ready", async () => {
      const { components, addons, nodeReady } = await status();
      return nodeReady && [...components, ...addons].every(({ ready }) => ready);
    });
  });

  it("stays as it is when it is brought up again", async () => {
    const pids = async () => (await status()).components.map(({ name, pid }) => `${name} ${pid}`);
    const deployments = async () =>
      (await read<{ items: { metadata: { name: string; generation: number } }[] }>("/apis/apps/v1/deployments")).items
        .map(({ metadata }) => `${metadata.name} ${metadata.generation}`)
        .filter((text) => /^(coredns|local-path-provisioner|metrics-server|traefik) /.test(text));
    const before = [...(await pids()), ...(await deployments())];
    const command = [join(import.meta.dirname, "../../lab/main.ts"), "up"];
    // Two at once: one waits for the other.
    await Promise.all([1, 2].map(() => promisify(execFile)(process.execPath, command)));
    assert.deepEqual([...(await pids()), ...(await deployments())], before);
  });

  it("runs a web server that answers over its Service, to the node and to another pod", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "web", { image: webImage });
    await runPod(namespace, "shell", { image: shellImage });
    await create(`/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    const service = await read<{ spec: { clusterIP: string } }>(`/api/v1/namespaces/${namespace}/services/web`);
    const url = `http://${service.spec.clusterIP}`;

    // kube-proxy writes its rules a moment after the endpoint is there.
    const page = await eventually("the page from the node", async () => (await fetch(url)).text(), podStartsWithinMs);
    assert.equal(page, "hello from the lab\n");
    const seenByPod = await execute(namespace, "shell", "wget", "-qO-", `${url}/cgi-bin/pod`);
    assert.equal(seenByPod, "web\n");
  });

  it("returns a container's log to authorized users", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "logs", { image: logsImage, env: [{ name: "INTERVAL_S", value: "0.1" }] });
    const lines = await eventually("three lines", async () => {
      const { body } = await callApi(`/api/v1/namespaces/${namespace}/pods/logs/log`);
      return body.includes("line 3\n") && body;
    });
    assert.match(lines, /^line 1\nline 2\nline 3\n/);
  });

  it("runs a command in a container and brings back how it ended", async (t) => {
    const namespace = await temporaryNamespace(t);
    await runPod(namespace, "shell", { image: shellImage });
    await assert.rejects(execute(namespace, "shell", "sh", "-c", "exit 7"), { code: 7 });
  });

  it("imports an image again when its content changed, and only then, and new pods run the new content", async (t) => {
    const namespace = await temporaryNamespace(t);
    const name = `lab.invalid/${randomUUID()}:1`;
    t.after(() => ctr("images", "remove", name));
    const importNote = (content: string) =>
      importImage({ name, command: ["/bin/cat", "/note"], layers: [busybox(), [{ path: "note", content }]] });
    assert.equal(importNote("first"), true);
    assert.equal(await outputOf(namespace, "one", { image: name }), "first");
    assert.equal(importNote("first"), false);
    assert.equal(importNote("second"), true);
    assert.equal(await outputOf(namespace, "two", { image: name }), "second");
  });

  it("audits every request to the API server with its user and status", async (t) => {
    const before = await markAudit();
    const namespace = await temporaryNamespace(t);
    const dryRun = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
    assert.equal((await callApi(dryRun, "POST", { metadata: { name: "dry-run" } })).status, 201);
    assert.equal((await callApi(`/api/v1/namespaces/${namespace}/pods/none`)).status, 404);
    const mark = await markAudit();
    const seen = (await auditedSince(before, "admin")).filter((one) => [one.name, one.namespace].includes(namespace));
    const lines = seen.map((one) => `${one.verb} ${one.resource} ${one.code} ${isWrite(one) ? "written" : "read"}`);
    assert.deepEqual(lines, ["create namespaces 201 written", "create configmaps 201 read", "get pods 404 read"]);
    assert.ok((await auditedSince(mark, "admin")).every((one) => one.namespace !== namespace));
  });
});
