import assert from "node:assert/strict";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { kinds } from "../kube/kinds.ts";
import { type Clock, realClock } from "../runtime/clock.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import { silentLog } from "../runtime/log.ts";
import type { Behaviours } from "./cluster/components/kubelet/behaviour.ts";
import { createSimulatedCluster } from "./cluster/simulated-kube.ts";
import { createFrontDoorService } from "./front-door-service.ts";

const namespace = "default";

function ingress(host: string, name: string, service = "web", within = namespace) {
  const backend = { service: { name: service, port: { number: 80 } } };
  const rules = [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
  return { metadata: { name, namespace: within }, spec: { ingressClassName: "box", rules } };
}

async function openDoor(t: TestContext, clock: Clock = realClock) {
  const deps = { clock, random: createSeededRandom(1), log: silentLog };
  const node = { name: "one", cpuMilli: 4_000n, memoryBytes: 2n ** 33n, ephemeralBytes: 2n ** 36n };
  const behaviour: Behaviours = (_, { pod }) => ({
    http: ({ path }) => ({ body: `${pod.metadata.namespace}: received ${path}\n` }),
    ...{ pullMs: 0, startMs: 0 },
  });
  const cluster = createSimulatedCluster({ nodes: [node], behaviour }, deps);
  t.after(() => cluster.close());
  const kube = Promise.resolve(cluster.connect("ingress-controller"));
  const door = createFrontDoorService(
    { listen: { host: "127.0.0.1", port: 0 }, ingressClass: "box" },
    { kube, log: silentLog },
  );
  const stopping = new AbortController();
  const running = createLifecycle({ services: [door], clock: realClock, log: silentLog }).run(stopping.signal);
  t.after(async () => {
    stopping.abort();
    await running;
  });
  await eventually("the address", () => door.url());
  const ask = (host: string, method = "GET", path = "/hello?x=1") =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      const call = request(door.url(), { method, path, headers: { host } }, async (answer) => {
        resolve([answer.statusCode, Buffer.concat(await answer.toArray()).toString()]);
      });
      call.on("error", reject).end();
    });
  const { server } = cluster;
  const labels = { app: "web" };
  return {
    ask,
    server,
    workload(within = namespace): void {
      const spec = { containers: [{ name: "web", image: "web" }] };
      server.create(kinds.pod, { metadata: { name: "web", namespace: within, labels }, spec }, "test");
    },
    service(name: string, selector: Record<string, string> = labels, within = namespace): void {
      const spec = { selector, ports: [{ port: 80, targetPort: 8080 }] };
      server.create(kinds.service, { metadata: { name, namespace: within }, spec }, "test");
    },
  };
}

test("a host name is answered by a container behind its Ingress, which says that it is served", async (t) => {
  const { ask, server, workload, service } = await openDoor(t);
  workload();
  service("web");
  service("nobody", { app: "nobody" });
  server.create(kinds.ingress, ingress("a.example.com", "a.example.com"), "test");
  server.create(kinds.ingress, ingress("*.example.com", "wide", "nobody"), "test");
  await eventually("an answer", async () => (await ask("A.example.com:8080"))[0] === 200);
  assert.deepEqual(await ask("a.example.com"), [200, "default: received /hello?x=1\n"]);
  assert.equal((await ask("b.example.com"))[0], 503);
  assert.deepEqual(await ask("example.org"), [404, 'nothing here is named "example.org"\n']);
  assert.equal((await ask("a.example.com", "POST"))[0], 405);
  await eventually("the status", () =>
    JSON.stringify(server.get(kinds.ingress, { namespace, name: "wide" })?.["status"]).includes("127.0.0.1"),
  );
});

test("of two routes for a name the older is taken, and the other where nothing is behind it", async (t) => {
  let laterMs = 0;
  const clock = { ...realClock, now: () => realClock.now() + laterMs };
  const { ask, server, workload, service } = await openDoor(t, clock);
  const host = "a.example.com";
  // By its name the newer one comes first.
  const [older, newer] = ["old-lease", "new-lease"];
  for (const within of [older, newer]) {
    server.create(kinds.namespace, { metadata: { name: within } }, "test");
    service("web", { app: "web" }, within);
    server.create(kinds.ingress, ingress(host, host, "web", within), "test");
    laterMs += 60_000;
  }
  const answers = (from: string) => async () => (await ask(host))[1].startsWith(`${from}: `);
  workload(newer);
  await eventually("the newer answers while nothing is behind the older", answers(newer));
  workload(older);
  await eventually("the older answers where both could", answers(older));
  server.delete(kinds.pod, { namespace: newer, name: "web" });
  await eventually("the pod is gone", () => !server.get(kinds.pod, { namespace: newer, name: "web" }));
  assert.equal(await answers(older)(), true, "nothing is behind the newer");
});

test("a path that looks like the name of another server is a path all the same", async (t) => {
  const { ask, server, workload, service } = await openDoor(t);
  workload();
  service("web");
  server.create(kinds.ingress, ingress("a.example.com", "a.example.com"), "test");
  await eventually("an answer", async () => (await ask("a.example.com"))[0] === 200);
  for (const path of ["//evil/x?y=1", "///evil/x?y=1", "/\\evil/x?y=1"])
    assert.deepEqual(await ask("a.example.com", "GET", path), [200, "default: received /evil/x?y=1\n"], path);
  assert.equal((await ask("a.example.com", "GET", "//["))[0], 200);
});
