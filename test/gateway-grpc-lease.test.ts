/** What tenants do with their leases over gRPC, by a client of @connectrpc/connect that knows us by reflection alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { limits } from "../src/runtime/limits.ts";
import { connectTo, reflect } from "./connect-client.ts";
import { eventually } from "./eventually.ts";
import { ask } from "./gateway-client.ts";
import { startGatewayStage } from "./gateway-stage.ts";
import { cell, shop } from "./lease-sdl.ts";
import { protoJson } from "./manifest-wire.ts";
import { createOwner } from "./owner.ts";

const leaseRpc = "akash.provider.lease.v1.LeaseRPC";

test("a tenant sends manifests and sees services over gRPC, as far as its credentials go", async (t) => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner, { tenants: 2 });
  const { tenant, tenants, grpcPort } = stage;
  const [, other] = tenants;
  assert.ok(other);
  const told = await reflect(owner, stage);
  const by = (authorization?: string) =>
    connectTo({ grpcPort, ...(authorization !== undefined && { authorization }) }, told, leaseRpc);
  const leaseId = { dseq: "7", gseq: 1, oseq: 1 };
  const manifest = protoJson(shop({ extras: true }).manifest);
  await tenant.lease(7n, shop({ extras: true }));
  await other.lease(7n, cell());

  await t.test("a manifest that came over gRPC is that of the JSON, and runs", async () => {
    const sdl = shop({ extras: true });
    assert.deepEqual(await by(tenant.bearer()).unary("SendManifest", { leaseId, manifest }), {});
    const { body } = await ask(stage, { path: "/lease/7/1/1/manifest", authorization: tenant.bearer() });
    assert.deepEqual(JSON.parse(body), JSON.parse(JSON.stringify(sdl.manifest)));
    const again = await ask(stage, {
      ...{ method: "PUT", path: "/deployment/7/manifest", authorization: tenant.bearer() },
      body: JSON.stringify(sdl.manifest),
    });
    assert.equal(again.status, 200, again.body);
  });

  await t.test("how its services are doing is told as over REST", async () => {
    const services = await eventually("services", async () => {
      const { services } = (await by(tenant.bearer()).unary("ServiceStatus", { leaseId })) as unknown as Statuses;
      const isThere = services.length === 2 && services[0]?.ips.length === 1;
      return isThere && services.every(({ status }) => status["readyReplicas"] === 1) && services;
    });
    const rest = await ask(stage, { path: "/lease/7/1/1/status", authorization: tenant.bearer() });
    const { services: shown, forwarded_ports: ports, ips } = JSON.parse(rest.body);
    for (const { name, status } of services) {
      const { uris, observedGeneration, ...counts } = status;
      const { uris: hosts, observed_generation: generation, name: _, ...same } = shown[name];
      assert.deepEqual([uris, observedGeneration], [hosts ?? [], `${generation}`]);
      const camel = (each: string) => each.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      assert.deepEqual(counts, Object.fromEntries(Object.entries(same).map(([each, count]) => [camel(each), count])));
    }
    const [page] = services;
    assert.deepEqual(page?.ports, ports.page);
    const [{ Port: port, ExternalPort: externalPort, Protocol: protocol, IP: ip }] = ips.page;
    assert.deepEqual(page?.ips, [{ port, externalPort, protocol, ip }]);
    const one = (await by(tenant.bearer()).unary("ServiceStatus", {
      leaseId,
      services: ["store"],
    })) as unknown as Statuses;
    assert.deepEqual(
      one.services.map(({ name }) => name),
      ["store"],
    );
  });

  await t.test("a token raw, a token with Bearer and a certificate are all as good", async () => {
    const asked = { leaseId: { ...leaseId, owner: tenant.address, provider: stage.provider.address } };
    assert.ok(await by(tenant.token()).unary("ServiceStatus", asked));
    const certificate = await tenant.certificate();
    const connecting = { grpcPort, certificate: { cert: certificate.cert, key: certificate.key } };
    assert.ok(await connectTo(connecting, told, leaseRpc).unary("ServiceStatus", asked));
    await refused(connectTo({ ...connecting, authorization: tenant.bearer() }, told, leaseRpc), Code.Unauthenticated);
  });

  await t.test("who is nobody, or not good for it, is refused before anything is looked up", async () => {
    await refused(by(), Code.Unauthenticated);
    await refused(by("garbage"), Code.Unauthenticated);
    await refused(by("Basic dXNlcg=="), Code.Unauthenticated);
    await refused(by(""), Code.Unauthenticated);
    await refused(by(tenant.bearer({ leases: { access: "scoped", scope: ["logs"] } })), Code.PermissionDenied);
    await refused(by(tenant.bearer()), Code.PermissionDenied, { owner: other.address });
    await refused(by(tenant.bearer()), Code.NotFound, { provider: other.address });
    await refused(by(tenant.bearer()), Code.NotFound, { dseq: "8" });
    await refused(by(other.bearer()), Code.NotFound);
  });

  await t.test("a token for one service shows that one, and refuses the other", async () => {
    const permission = { dseq: 7, scope: ["status"], services: ["page"] };
    const permissions = [{ provider: stage.provider.address, access: "granular", deployments: [permission] }];
    const limited = by(tenant.bearer({ leases: { access: "granular", permissions } }));
    const { services } = (await limited.unary("ServiceStatus", { leaseId })) as unknown as Statuses;
    assert.deepEqual(
      services.map(({ name }) => name),
      ["page"],
    );
    await assert.rejects(limited.unary("ServiceStatus", { leaseId, services: ["store"] }), {
      code: Code.PermissionDenied,
    });
    await assert.rejects(limited.unary("SendManifest", { leaseId, manifest }), { code: Code.PermissionDenied });
  });

  await t.test("what cannot be done says so in words", async () => {
    const call = by(tenant.bearer());
    const none = await failure(call.unary("ServiceStatus", { leaseId, services: ["nothing"] }));
    assert.deepEqual([none.code, none.rawMessage], [Code.NotFound, "kube: no service for that lease"]);
    const quote = await failure(call.unary("AttestationQuote", { leaseId }));
    assert.equal(quote.code, Code.Unimplemented);
    assert.match(quote.rawMessage, /nothing to attest/);
    const another = await failure(call.unary("SendManifest", { leaseId, manifest: protoJson(shop().manifest) }));
    assert.equal(another.code, Code.InvalidArgument);
    assert.match(another.rawMessage, /^manifest version validation failed.*REST/);
    const empty = await failure(call.unary("SendManifest", { leaseId }));
    assert.match(empty.rawMessage, /manifest is empty/);
    assert.match((await failure(call.unary("ServiceStatus"))).rawMessage, /lease_id is missing/);
    const services = Array.from({ length: limits.leaseServicesNamed + 1 }, () => "");
    assert.match((await failure(call.unary("ServiceStatus", { leaseId, services }))).rawMessage, /more items/);
    const parts = Array.from({ length: limits.manifestItems }, () => ({}));
    const many = await failure(call.unary("SendManifest", { leaseId, manifest: [{ services: parts }] }));
    assert.match(many.rawMessage, /more items/);
  });

  async function refused(client: ReturnType<typeof by>, code: Code, more: object = {}): Promise<void> {
    const { code: got, message } = await failure(client.unary("ServiceStatus", { leaseId: { ...leaseId, ...more } }));
    assert.equal(got, code, message);
  }
});

interface Statuses {
  readonly services: readonly {
    readonly name: string;
    readonly status: Readonly<Record<string, unknown>>;
    readonly ports: readonly object[];
    readonly ips: readonly object[];
  }[];
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  const thrown = await call.then(
    () => assert.fail("it was answered"),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ConnectError, String(thrown));
  return thrown;
}
