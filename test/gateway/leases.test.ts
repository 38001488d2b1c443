/** The life of leases over TLS: manifest, status, withdrawal, and their authorization. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { sharingAnnotation } from "../../src/kube/objects/metallb.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { manifestBytes } from "../../src/runtime/limits.ts";
import { eventually } from "../support/eventually.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { type GatewayRequest, sendRequest } from "../support/gateway-client.ts";
import { cell, shop } from "../support/samples/lease-sdl.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";

interface Status {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly forwarded_ports: Readonly<Record<string, readonly object[]>> | null;
  readonly ips: Readonly<Record<string, readonly object[]>> | null;
}

const sdlText = `
version: "2.1"
services:
  cell:
    image: example.com/page:1
    expose: [{ port: 8080, as: 80, to: [{ global: true }] }]
profiles:
  compute:
    cell: { resources: { cpu: { units: 100m }, memory: { size: 64Mi }, storage: [{ size: 64Mi }] } }
  placement:
    box: { pricing: { cell: { denom: uact, amount: 10000 } } }
deployment:
  cell: { box: { profile: cell, count: 1 } }
`;

test("a tenant's day with leases", async (t) => {
  let chain: FaultTransport | undefined;
  let inventoryError: string | undefined;
  const stage = await startGatewayStage(t, {
    inventoryTrouble: () => inventoryError,
    nodes(node) {
      chain = faultTransport(node.transport());
      return [chain];
    },
  });
  const { tenant, cluster } = stage;
  const as = async (method: string, path: string, more: Partial<GatewayRequest> = {}): Promise<[number, string]> => {
    const { status, body } = await sendRequest(stage, { method, path, authorization: tenant.bearer(), ...more });
    return [status, body];
  };
  const status = (dseq: number) => as("GET", `/lease/${dseq}/1/1/status`);
  const send = (dseq: number, body: string | Uint8Array, type?: string) => {
    return as("PUT", `/deployment/${dseq}/manifest`, { body, ...(type && { headers: [["Content-Type", type]] }) });
  };
  const sdl = shop();
  const manifest = JSON.stringify(sdl.manifest);

  await t.test("manifest is deployed, its status served, and it is read back", async () => {
    await tenant.lease(7n, sdl);
    assert.deepEqual(await status(7), [404, ""]);
    assert.deepEqual(await as("GET", "/lease/7/1/1/service/page/status"), [404, "kube: lease not found\n"]);
    assert.deepEqual(await as("GET", "/lease/7/1/1/manifest"), [404, "lease not found\n"]);
    assert.deepEqual(await send(7, manifest), [200, ""]);
    const seen = await eventually("all of it ready", async () => {
      const [code, body] = await status(7);
      const read = code === 200 ? (JSON.parse(body) as Status) : undefined;
      const services = Object.values(read?.services ?? {});
      const isReady = services.length === 2 && services.every((each) => each["ready_replicas"] === 1);
      const isReached =
        Object.keys(read?.ips ?? {}).length > 0 && String(read?.services["page"]?.["uris"]).includes(",");
      return isReady && isReached ? read : undefined;
    });
    assert.deepEqual(Object.keys(seen), ["services", "forwarded_ports", "ips"]);
    const hosts = JSON.stringify(seen.services["page"]?.["uris"]);
    assert.match(hosts, /^\["[a-v0-9]{26}\.ingress\.example\.com","shop\.example\.com"\]$/);
    assert.equal(seen.services["store"]?.["uris"], null);
    const forwarded = { host: "provider.example.com", externalPort: 0, name: "page" };
    assert.deepEqual(
      seen.forwarded_ports?.["page"]?.map((each) => ({ ...each, externalPort: 0 })),
      [
        { ...forwarded, port: 7_000, proto: "TCP" },
        { ...forwarded, port: 9_000, proto: "TCP" },
        { ...forwarded, port: 9_000, proto: "UDP" },
      ],
    );
    assert.deepEqual(seen.ips, { page: [{ Port: 7_000, ExternalPort: 7_000, Protocol: "TCP", IP: "192.0.2.1" }] });
    assert.deepEqual(await as("GET", "/lease/7/1/1/manifest"), [200, manifest]);
  });

  await t.test(
    "only NodePort Services are forwarded ports, and an address is shown only while the lease has it",
    async () => {
      const { server } = cluster;
      const shown = async () => JSON.parse((await status(7))[1]) as Status;
      const balancer = server.list(kinds.service).find(({ metadata }) => metadata.name === "page-ip-7000-tcp");
      assert.ok(balancer);
      // As the Go provider's IP operator makes it.
      const [port] = recordsOf(fieldsOf(balancer["spec"])["ports"]);
      assert.ok(Number(port?.["nodePort"]) > 0);
      assert.deepEqual(Object.keys((await shown()).forwarded_ports ?? {}), ["page"]);
      const shareWith = (key: string | undefined) => {
        const { resourceVersion: _, ...metadata } = balancer.metadata;
        const annotations = { ...metadata.annotations, ...(key !== undefined && { [sharingAnnotation]: key }) };
        server.update(kinds.service, { ...balancer, metadata: { ...metadata, annotations } }, "test");
      };
      shareWith(`${tenant.address}-ip-before`);
      await eventually("the renamed endpoint is hidden", async () => JSON.stringify((await shown()).ips) === "{}");
      shareWith(undefined);
      await eventually("the address is shown again", async () => "page" in ((await shown()).ips ?? {}));
      server.delete(kinds.service, balancer.metadata);
      await eventually("the address goes with its Service", async () => JSON.stringify((await shown()).ips) === "{}");
    },
  );

  await t.test("token for one service → no access to another, and no withdrawal", async () => {
    const scope = ["status", "get-manifest", "send-manifest"];
    const deployments = [{ dseq: 7, scope, services: ["page"] }];
    const permissions = [{ provider: stage.provider.address, access: "granular", deployments }];
    const authorization = tenant.bearer({ leases: { access: "granular", permissions } });
    const limited = (method: string, path: string) => as(method, path, { authorization });
    const [, shown] = await limited("GET", "/lease/7/1/1/status");
    const { services, forwarded_ports: ports } = JSON.parse(shown) as Status;
    assert.deepEqual([Object.keys(services), Object.keys(ports ?? {})], [["page"], ["page"]]);
    assert.equal((await limited("GET", "/lease/7/1/1/service/page/status"))[0], 200);
    const rejected = [401, '{"message":"unauthorized access"}'];
    assert.deepEqual(await limited("GET", "/lease/7/1/1/service/store/status"), rejected);
    const [, read] = await limited("GET", "/lease/7/1/1/manifest");
    const [{ services: sent = [] } = {}] = JSON.parse(read) as [{ services?: { name: string }[] }];
    assert.deepEqual(
      sent.map(({ name }) => name),
      ["page"],
    );
    assert.deepEqual(await limited("DELETE", "/deployment/7/manifest"), rejected);
    const only = tenant.bearer({ leases: { access: "scoped", scope: ["logs", "send-manifest"] } });
    for (const path of ["status", "service/page/status", "manifest"]) {
      assert.deepEqual(await as("GET", `/lease/7/1/1/${path}`, { authorization: only }), rejected, path);
    }
  });

  await t.test("SDL instead of the manifest is accepted; an invalid one gets the reason", async () => {
    await tenant.lease(8n, readSdl(sdlText));
    assert.deepEqual(await send(8, sdlText.replace("page:1", "page:2"), "application/yaml"), [
      422,
      "manifest version validation failed\n",
    ]);
    const [code, words] = await send(8, sdlText.replace("count: 1", "count: -1"), "application/yaml; charset=utf-8");
    assert.equal(code, 422);
    assert.match(words, /^the SDL is not a deployment that can be posted:\n {2}- deployment\.cell\.box\.count/);
    assert.deepEqual(await send(8, Buffer.from([0xff]), "application/yaml"), [422, "the SDL is not UTF-8\n"]);
    assert.deepEqual(await send(8, sdlText, "application/yaml"), [200, ""]);
    await eventually("it runs", async () => (await status(8))[0] === 200);
    const tooLarge = await send(8, Buffer.alloc(manifestBytes + 1, 32));
    assert.deepEqual(tooLarge, [413, "http: request body too large\n"]);
  });

  await t.test("rejection by Kubernetes → its reason in the lease status", async () => {
    const other = shop({ host: "other.example.com" });
    await tenant.lease(9n, other);
    cluster.faults.reject({ status: 422, verb: "patch", kind: kinds.statefulSet });
    assert.deepEqual(await send(9, JSON.stringify(other.manifest)), [200, ""]);
    const rejection = /^kube: no deployments for lease: the manifest was refused: Kubernetes refused to apply .+\n$/;
    await eventually("a reason", async () => rejection.test((await status(9))[1]));
  });

  await t.test("withdrawn manifest is torn down, and can be withdrawn again", async () => {
    assert.deepEqual(await as("DELETE", "/deployment/7/manifest"), [200, ""]);
    assert.deepEqual(await as("GET", "/lease/7/1/1/manifest"), [404, "lease not found\n"]);
    await eventually("nothing runs", async () => (await status(7))[1] === "kube: no deployments for lease\n");
    assert.deepEqual(await as("DELETE", "/deployment/7/manifest"), [200, ""]);
    assert.deepEqual(await as("DELETE", "/deployment/77/manifest"), [404, "no lease for deployment\n"]);
  });

  await t.test("closed lease → its tenant has no access", async () => {
    await tenant.close(8n);
    await eventually("a block later", async () => (await status(8))[0] === 404);
    assert.deepEqual(await as("GET", "/lease/8/1/1/manifest"), [404, "lease not found\n"]);
    assert.equal((await as("GET", "/lease/8/1/1/service/cell/status"))[0], 404);
  });

  await t.test("inventory and chain away → cached status; API server away → the reason", async () => {
    await tenant.deployed(10n, cell());
    inventoryError = "the inventory operator is away";
    given(chain).hangs = () => true;
    assert.equal((await status(10))[0], 200);
    assert.equal((await as("GET", "/lease/10/1/1/manifest"))[0], 200);
    assert.deepEqual(await send(10, JSON.stringify(cell().manifest)), [200, ""]);
    cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    cluster.faults.cutWatches();
    const reason = /^what our leases have in the cluster is not known right now: .+\n$/;
    await eventually("trouble", async () => (await status(10))[0] === 503);
    for (const path of ["status", "service/cell/status", "manifest"]) {
      const [code, words] = await as("GET", `/lease/10/1/1/${path}`);
      assert.equal(code, 503, path);
      assert.match(words, reason, path);
    }
    const [code, words] = await send(10, JSON.stringify(cell().manifest));
    assert.deepEqual([code, reason.test(words)], [503, true]);
    cluster.faults.clear();
    await eventually("all is well again", async () => (await status(10))[0] === 200);
  });
});

function given<T>(value: T | undefined): T {
  assert.ok(value);
  return value;
}
