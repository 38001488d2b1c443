import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { eventually } from "../../test/eventually.ts";
import { kinds } from "../kube/kinds.ts";
import { realClock } from "../runtime/clock.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import { silentLog } from "../runtime/log.ts";
import { createSeededRandom } from "../runtime/random.ts";
import { createSimulatedCluster } from "./cluster/simulated-kube.ts";
import { createFrontDoorService } from "./front-door-service.ts";

const namespace = "default";

function ingress(host: string, name: string, service = "web") {
  const backend = { service: { name: service, port: { number: 80 } } };
  const rules = [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }];
  return { metadata: { name, namespace }, spec: { ingressClassName: "box", rules } };
}

test("a host name is answered by a container behind its Ingress, which says that it is served", async (t) => {
  const deps = { clock: realClock, random: createSeededRandom(1), log: silentLog };
  const node = { name: "one", cpuMilli: 4_000n, memoryBytes: 2n ** 33n, ephemeralBytes: 2n ** 36n };
  const http = ({ path }: { path: string }) => ({ body: `you asked for ${path}\n` });
  const behaviour = () => ({ http, pullMs: 0, startMs: 0 });
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
  const ask = (host: string, method = "GET") =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      const asking = request(`${door.url()}/hello?x=1`, { method, headers: { host } }, async (answer) => {
        resolve([answer.statusCode, Buffer.concat(await answer.toArray()).toString()]);
      });
      asking.on("error", reject).end();
    });

  const { server } = cluster;
  const labels = { app: "web" };
  server.create(
    kinds.pod,
    { metadata: { name: "web", namespace, labels }, spec: { containers: [{ name: "web", image: "web" }] } },
    "test",
  );
  server.create(
    kinds.service,
    { metadata: { name: "web", namespace }, spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] } },
    "test",
  );
  const nobody = { selector: { app: "nobody" }, ports: [{ port: 80 }] };
  server.create(kinds.service, { metadata: { name: "nobody", namespace }, spec: nobody }, "test");
  server.create(kinds.ingress, ingress("a.example.com", "a.example.com"), "test");
  server.create(kinds.ingress, ingress("*.example.com", "wide", "nobody"), "test");
  await eventually("an answer", async () => (await ask("A.example.com:8080"))[0] === 200);
  assert.deepEqual(await ask("a.example.com"), [200, "you asked for /hello?x=1\n"]);
  assert.equal((await ask("b.example.com"))[0], 503);
  assert.deepEqual(await ask("example.org"), [404, 'nothing here is named "example.org"\n']);
  assert.equal((await ask("a.example.com", "POST"))[0], 405);
  await eventually("the status", () =>
    JSON.stringify(server.get(kinds.ingress, { namespace, name: "wide" })?.["status"]).includes("127.0.0.1"),
  );
});
