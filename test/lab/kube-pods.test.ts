/** Logs, commands and requests that reach into real containers. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { after, describe, it } from "node:test";
import { logsImage, webImage } from "../../lab/images.ts";
import { apiServer, network, places } from "../../lab/places.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { type CuttableProxy, startProxy } from "../support/cuttable-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { labIsMissing, temporaryNamespace } from "./cluster.ts";
import { openKube } from "./open-kube.ts";
import { runPod, runShell } from "./pods.ts";

const namespace = labIsMissing ? "" : await temporaryNamespace({ after });
const box = { namespace, name: "box" };
const web = { namespace, name: "web" };

/** The lab's API server behind a wire that can be cut. */
async function behindWire(owner: Owner): Promise<{ kube: Kube; wire: CuttableProxy }> {
  const wire = await startProxy(owner, network.apiPort, network.node);
  const kubeconfig = join(temporaryFolder(owner), "kubeconfig");
  const direct = readFileSync(places.kubeconfig, "utf8");
  writeFileSync(kubeconfig, direct.replace(apiServer, `https://127.0.0.1:${wire.port}`));
  return { kube: openKube(owner, kubeconfig), wire };
}

describe("the client, in containers", { skip: labIsMissing }, async () => {
  const kube = openKube({ after }, places.kubeconfig);
  if (!labIsMissing) await Promise.all([runShell(kube, box, "true"), runPod(kube, web, { image: webImage })]);

  it("follows a log through cuts and through an API server that is away, and every line comes once", async (t) => {
    const at = { namespace, name: "talker" };
    await runPod(kube, at, { image: logsImage, env: [{ name: "INTERVAL_S", value: "0.05" }] });
    const { kube: cut, wire } = await behindWire(t);
    const stop = new AbortController();
    const lines: string[] = [];
    const following = (async () => {
      for await (const batch of cut.logs(at, { follow: true, signal: stop.signal }))
        lines.push(...batch.map(({ text }) => text));
    })();
    const reaches = (count: number) => eventually(`${count} lines`, () => lines.length >= count);
    for (let cuts = 1; cuts <= 5; cuts += 1) {
      await reaches(10 * cuts);
      wire.cut();
    }
    wire.target = undefined;
    const before = lines.length;
    // It has noticed, and was turned away a few times.
    await eventually("some tries", () => cut.counts.retries >= 3);
    wire.target = network.apiPort;
    await reaches(before + 30);
    stop.abort();
    await following;
    assert.deepEqual(
      lines,
      lines.map((_, index) => `line ${index + 1}`),
    );
  });

  it("ends a followed log with its container", async () => {
    const at = { namespace, name: "brief" };
    await runPod(kube, at, { image: logsImage, command: ["/bin/sh", "-c", "echo one; sleep 2; echo two"] }, "started");
    const lines: string[] = [];
    for await (const batch of kube.logs(at, { follow: true })) lines.push(...batch.map(({ text }) => text));
    assert.deepEqual(lines, ["one", "two"]);
  });

  it("sets the terminal size of a command, and resizes it", async () => {
    const command = ["sh", "-c", "while read word; do stty size; done"];
    const session = await kube.exec(box, { command, tty: true, stdin: true });
    let output = "";
    session.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
    for (const size of [
      { columns: 101, rows: 37 },
      { columns: 64, rows: 20 },
    ]) {
      session.resize(size);
      await eventually(`${size.rows} ${size.columns}`, () => {
        session.stdin.write("\n");
        return output.includes(`${size.rows} ${size.columns}`);
      });
    }
    session.stdin.end(Buffer.of(4));
    assert.equal(await session.exit, 0);
  });

  it("hands a command a megabyte and the end of it, and gets a megabyte back", async () => {
    const bytes = randomBytes(1_000_000);
    const session = await kube.exec(box, { command: ["sh", "-c", "cat > /tmp/in; cat /tmp/in"], stdin: true });
    const output = buffer(session.stdout);
    session.stdin.end(bytes);
    assert.equal(await session.exit, 0);
    assert.equal(sha256(await output), sha256(bytes));
  });

  it("rejects a command that does not exist, and a pod that does not exist", async () => {
    const { exit } = await kube.exec(box, { command: ["nowhere"] });
    await assert.rejects(exit, { code: "AKP_KUBE_FAILED", message: /"nowhere": executable file not found/ });
    const missing = { namespace, name: "missing" };
    await assert.rejects(kube.exec(missing, { command: ["true"] }), {
      code: "AKP_KUBE_NOT_FOUND",
      message: /exec in pods missing of /,
    });
  });

  it("a broken connection rejects the exit code of a command", async (t) => {
    const { kube: cut, wire } = await behindWire(t);
    const session = await cut.exec(box, { command: ["sh", "-c", "echo on; sleep 60"] });
    session.stdout.once("data", () => wire.cut());
    await assert.rejects(session.exit, { code: "AKP_KUBE_UNREACHABLE", message: /exec in pods box/ });
    assert.equal(await text(session.stderr), "");
  });

  it("reaches a port of a pod and of a service", async () => {
    const spec = { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] };
    await kube.apply(kinds.service, { metadata: web, spec });
    const page = await kube.proxy({ kind: "pod", ...web, port: 8080 });
    assert.deepEqual([page.status, page.body.toString()], [200, "hello from the lab\n"]);
    await eventually("the service's endpoint", async () => {
      const answer = await kube.proxy({ kind: "service", ...web, port: "http" }, { path: "/cgi-bin/pod" });
      return answer.status === 200 && answer.body.toString() === "web\n";
    });
    assert.equal((await kube.proxy({ kind: "pod", ...web, port: 8080 }, { path: "/nowhere" })).status, 404);
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
