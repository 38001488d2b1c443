/** The gateway over a real API server with its controllers: what they count is what a tenant sees, and what becomes of it when it is away. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing, startControlPlane } from "../../lab/own-control-plane.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { machine, prepareKube } from "../support/stages/lease-stage.ts";
import { openKube } from "./open-kube.ts";

/** Of a control plane that starts on a busy machine. */
const readyWithinMs = 120_000;

interface Status {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly forwarded_ports: Readonly<Record<string, readonly { readonly externalPort: number }[]>> | null;
}

test("on a real server a tenant sees ready replicas and node ports, gets 503 while the API server is down, and sees them again afterwards", {
  skip: controlPlaneMissing(["kube", "kwok"]),
}, async (t) => {
  const plane = await startControlPlane(t, { controllers: true, scheduler: true, kwok: true });
  const admin = openKube(t, plane.kubeconfig, { fieldManager: "operator" });
  await prepareKube(admin);
  const allocatable = { cpu: "64", memory: "64Gi", "ephemeral-storage": "1Ti", pods: "110" };
  const status = { capacity: allocatable, allocatable };
  await admin.create(kinds.node, { metadata: { name: machine.name, labels: { ...machine.labels } }, status });
  const stage = await startGatewayStage(t, {
    kube: () =>
      createHttpKube(
        { kubeconfig: plane.kubeconfig, fieldManager: "akash-provider" },
        { clock: realClock, random: realRandom, log: silentLog },
      ),
  });
  const { tenant } = stage;
  const request = (method: string, path: string, body?: string) =>
    sendRequest(stage, { method, path, authorization: tenant.bearer(), ...(body !== undefined && { body }) });
  const leaseStatus = () => request("GET", "/lease/7/1/1/status");
  // The store's volume would need a driver, which is not here: it waits for one.
  const sdl = shop();
  await tenant.lease(7n, sdl);
  assert.equal((await request("PUT", "/deployment/7/manifest", JSON.stringify(sdl.manifest))).status, 200);
  const isReady = async () => {
    const { status: code, body } = await leaseStatus();
    const seen = code === 200 ? (JSON.parse(body) as Status) : undefined;
    const isThere = seen?.services["store"]?.["replicas"] === 1 && seen.forwarded_ports?.["page"] !== undefined;
    return isThere && seen.services["page"]?.["ready_replicas"] === 1 ? seen : undefined;
  };
  const { services, forwarded_ports: ports } = await eventually("a page that is ready", isReady, readyWithinMs);
  const { uris: _, ...page } = services["page"] ?? {};
  assert.deepEqual(page, {
    ...{ name: "page", available: 1, total: 1, observed_generation: 1, replicas: 1 },
    ...{ updated_replicas: 1, ready_replicas: 1, available_replicas: 1 },
  });
  // Created but not ready, as the Go provider reports a stateful set.
  assert.deepEqual([services["store"]?.["available"], services["store"]?.["ready_replicas"]], [1, 0]);
  for (const { externalPort } of ports?.["page"] ?? []) assert.ok(externalPort >= 30_000, `${externalPort}`);
  assert.equal(ports?.["page"]?.length, 3);

  await plane.killApi();
  await eventually("503", async () => (await leaseStatus()).status === 503, readyWithinMs);
  const { body } = await leaseStatus();
  assert.match(body, /^what our leases have in the cluster is not known right now: .+\n$/);
  assert.equal((await request("GET", "/lease/7/1/1/service/page/status")).status, 503);
  await plane.startApi();
  await eventually("a page again", isReady, readyWithinMs);
});
