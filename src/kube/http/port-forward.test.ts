import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, connect as dial, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { box, simulateBox } from "../../../test/support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../../../test/support/kube-http-server.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { silentLog } from "../../runtime/log.ts";
import { realRandom } from "../../runtime/random.ts";
import { kinds } from "../kinds.ts";
import { createHttpKube } from "./http-kube.ts";

/** A pod whose port 80 leads to a TCP server of the test. */
async function stage(owner: Owner, serve: (socket: Socket) => void) {
  const server = createServer(serve).listen(0, "127.0.0.1");
  owner.after(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cluster = await simulateBox(owner, { connect: () => dial(port, "127.0.0.1") });
  const api = await startKubeHttpServer(owner, cluster);
  const kubeconfig = api.writeKubeconfig(temporaryFolder(owner));
  const kube = createHttpKube(
    { kubeconfig, fieldManager: "test" },
    { clock: realClock, random: realRandom, log: silentLog },
  );
  owner.after(() => kube.close());
  return { cluster, api, kube };
}

test("a forwarded port carries a megabyte both ways in order", async (t) => {
  const { kube } = await stage(t, (socket) => void socket.pipe(socket));
  const connection = await kube.forwardPort(box, 80);
  const sent = Buffer.from(Array.from({ length: 100_000 }, (_, n) => `line ${n}\n`).join(""));
  const received: Buffer[] = [];
  let bytes = 0;
  connection.on("data", (chunk: Buffer) => {
    received.push(chunk);
    bytes += chunk.length;
  });
  connection.write(sent);
  await eventually("the echo", () => bytes === sent.length);
  assert.ok(Buffer.concat(received).equals(sent));
  connection.destroy();
});

test("a forwarded port ends when its server ends it, and with its signal", async (t) => {
  const { kube, api } = await stage(t, (socket) => void socket.end("bye"));
  assert.equal(await text(await kube.forwardPort(box, 80)), "bye");
  const stop = new AbortController();
  const connection = await kube.forwardPort(box, 80, { signal: stop.signal });
  stop.abort();
  await buffer(connection).catch(() => undefined);
  await eventually("the end of both", () => api.execs === 0);
});

test("a pod that is missing, or that may not be reached, is an error with the server's reason", async (t) => {
  const { cluster, kube } = await stage(t, (socket) => socket.destroy());
  const code = (expected: string) => (thrown: unknown) => ProviderError.from(thrown).code === expected;
  await assert.rejects(kube.forwardPort({ ...box, name: "other" }, 80), code("AKP_KUBE_NOT_FOUND"));
  cluster.faults.forbid("get", kinds.pod);
  await assert.rejects(kube.forwardPort(box, 80), code("AKP_KUBE_FORBIDDEN"));
});

test("a reason on the error channel ends the connection with it", async (t) => {
  const { kube } = await stage(t, (socket) => socket.resetAndDestroy());
  const connection = await kube.forwardPort(box, 80);
  const [thrown] = await once(connection.resume(), "error").catch((each) => [each]);
  assert.match(String(thrown), /ECONNRESET/);
});
