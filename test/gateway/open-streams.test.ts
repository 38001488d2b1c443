/**
 * Open streams delay nothing else: writes to the API server do not wait for stalled streams, and other clients of the gateway
 * are answered. A request that waited for such a stream would never complete.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kubeSockets } from "../../src/kube/http/agents.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { connectGateway, requestOn } from "../support/gateway-client.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { box, namespace, simulateBox } from "../support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import type { Owner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { machine, prepareCluster } from "../support/stages/lease-stage.ts";
import { openStream } from "../support/stages/stream-stage.ts";

const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };

function openKube(owner: Owner, kubeconfig: string): Kube {
  const kube = createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps);
  owner.after(() => kube.close());
  return kube;
}

test("hundreds of stalled logs, commands and watches → writes are not delayed", {
  timeout: 60_000,
}, async (t) => {
  const face = await startKubeHttpServer(t, await simulateBox(t));
  const kube = openKube(t, face.writeKubeconfig(temporaryFolder(t)));
  const ofEach = 100;
  const over = new AbortController();
  t.after(() => over.abort());
  await Promise.all(
    Array.from({ length: ofEach }, async () => {
      const lines = kube.logs(box, { follow: true, signal: over.signal })[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value?.[0]?.text, "first");
      await kube.exec(box, { command: ["sh"], stdin: true, tty: false });
      await kube.watch({ kind: kinds.service, namespace, project: () => undefined, handle: () => undefined }).synced();
    }),
  );
  assert.equal(face.execs, ofEach);
  await eventually("all of them", () => face.connections >= 3 * ofEach);
  // Twice as many at once as there are sockets for calls, so that each of these is needed.
  await Promise.all(
    Array.from({ length: 2 * kubeSockets }, (_, n) =>
      kube.create(kinds.configMap, { metadata: { namespace, name: `beside-${n}` } }),
    ),
  );
});

test("other tenants' open streams → requests and deployments are not delayed", {
  timeout: 60_000,
}, async (t) => {
  const quick = () => ({
    pullMs: 0,
    startMs: 0,
    stopMs: 0,
    logs: (line: number) => (line < 3 ? `line ${line}` : undefined),
  });
  const cluster = createSimulatedCluster({ nodes: [machine], behaviour: quick }, deps);
  t.after(() => cluster.close());
  prepareCluster(cluster);
  const face = await startKubeHttpServer(t, cluster);
  const kubeconfig = face.writeKubeconfig(temporaryFolder(t));
  const stage = await startGatewayStage(t, {
    tenants: 3,
    kube: () => createHttpKube({ kubeconfig, fieldManager: "akash-provider" }, deps),
  });
  const { port } = stage;
  const [one, ...others] = stage.tenants as [GatewayTenant, ...GatewayTenant[]];
  await Promise.all(stage.tenants.map((tenant) => tenant.deployed(1n)));
  const socket = await connectGateway({ port });
  const authorization = one.bearer();
  const request = async (path: string, method = "GET", body?: string) => {
    const answer = await requestOn(socket, { method, path, authorization, ...(body !== undefined && { body }) });
    assert.equal(answer.status, 200, answer.body);
    return JSON.parse(answer.body || "{}");
  };
  const isUp = (dseq: bigint) =>
    eventually("a pod", async () => (await request(`/lease/${dseq}/1/1/status`)).services.cell.ready_replicas === 1);
  await isUp(1n);

  /** Of each of the others: a third each of logs, events and shells. */
  const ofEach = runs(30, 120);
  const paths = ["logs?follow=true", "kubeevents?follow=true", "shell?podIndex=0&service=cell&tty=1&stdin=1&cmd0=sh"];
  const streams = await Promise.all(
    others.flatMap((tenant) => {
      const theirs = tenant.bearer();
      return Array.from({ length: ofEach }, async (_, n) => {
        const client = await openStream(port, {
          path: `/lease/1/1/1/${paths[n % paths.length]}`,
          authorization: theirs,
        });
        assert.equal(client.answer?.status, 101);
        // Where nothing has happened, nothing comes before the first ping.
        if (n % paths.length !== 1) await client.until(() => client.frames.length > 0);
        return client;
      });
    }),
  );
  assert.ok(face.execs === (others.length * ofEach) / paths.length && face.execs > kubeSockets);
  await request("/lease/1/1/1/status");
  // From the manifest to its pod, by a dozen writes.
  await one.lease(2n);
  await request("/deployment/2/manifest", "PUT", JSON.stringify(cell().manifest));
  await isUp(2n);
  assert.ok(
    streams.every(({ close, isEnded }) => close === undefined && !isEnded),
    "all of them are still open",
  );
  for (const client of [...streams, { socket }]) client.socket.destroy();
  // Before its cluster: it has commands to end there.
  await stage.stop();
});
