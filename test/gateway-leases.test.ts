/** A tenant's day with one lease, over TLS: what is sent, what is told of it, and until when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./eventually.ts";
import { type Answered, ask } from "./gateway-client.ts";
import { startGatewayStage } from "./gateway-stage.ts";
import { cell, shop } from "./lease-sdl.ts";

interface Status {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly forwarded_ports: Readonly<Record<string, readonly object[]>> | null;
  readonly ips: Readonly<Record<string, readonly object[]>> | null;
  readonly errors?: readonly string[];
}

test("what a tenant sends over the gateway runs, is told of, read back and taken back", async (t) => {
  const { port, tenant } = await startGatewayStage(t);
  const sdl = shop();
  await tenant.lease(7n, sdl);
  const as = (method: string, path: string, body?: string): Promise<Answered> =>
    ask({ port }, { method, path, authorization: tenant.bearer(), ...(body !== undefined && { body }) });
  const status = () => as("GET", "/lease/7/1/1/status");

  assert.deepEqual(await told(status()), [404, ""]);
  assert.deepEqual(await told(as("GET", "/lease/7/1/1/service/page/status")), [404, "kube: lease not found\n"]);
  assert.deepEqual(await told(as("GET", "/lease/7/1/1/manifest")), [404, "lease not found\n"]);
  assert.deepEqual(await told(as("PUT", "/deployment/7/manifest", JSON.stringify(sdl.manifest))), [200, ""]);
  const seen = await eventually("all of it ready", async () => {
    const { status: code, body } = await status();
    const read = code === 200 ? (JSON.parse(body) as Status) : undefined;
    const services = Object.values(read?.services ?? {});
    const isReady = services.length === 2 && services.every((each) => each["ready_replicas"] === 1);
    return isReady && Object.keys(read?.ips ?? {}).length > 0 ? read : undefined;
  });
  assert.deepEqual(Object.keys(seen), ["services", "forwarded_ports", "ips"]);
  const hosts = JSON.stringify(seen.services["page"]?.["uris"]);
  assert.match(hosts, /^\["[a-v0-9]{26}\.ingress\.example\.com","shop\.example\.com"\]$/);
  assert.equal(seen.services["store"]?.["uris"], null);
  assert.deepEqual(
    seen.forwarded_ports?.["page"]?.map((each) => ({ ...each, externalPort: 0 })),
    [
      { host: "provider.example.com", port: 7_000, externalPort: 0, proto: "TCP", name: "page" },
      { host: "provider.example.com", port: 9_000, externalPort: 0, proto: "TCP", name: "page" },
      { host: "provider.example.com", port: 9_000, externalPort: 0, proto: "UDP", name: "page" },
    ],
  );
  assert.deepEqual(seen.ips, { page: [{ Port: 7_000, ExternalPort: 7_000, Protocol: "TCP", IP: "203.0.113.7" }] });
  const [code, body] = await told(as("GET", "/lease/7/1/1/manifest"));
  assert.deepEqual([code, JSON.parse(body)], [200, JSON.parse(JSON.stringify(sdl.manifest))]);

  assert.deepEqual(await told(as("DELETE", "/deployment/7/manifest")), [200, ""]);
  assert.deepEqual(await told(as("GET", "/lease/7/1/1/manifest")), [404, "lease not found\n"]);
  await eventually("nothing runs", async () => (await told(status()))[1] === "kube: no deployments for lease\n");
  assert.deepEqual(await told(as("DELETE", "/deployment/7/manifest")), [200, ""]);
});

test("a closed lease is nobody's any more at once", async (t) => {
  const { port, tenant } = await startGatewayStage(t);
  await tenant.deployed(7n, cell());
  const status = (path: string) => ask({ port }, { path, authorization: tenant.bearer() });
  assert.equal((await status("/lease/7/1/1/status")).status, 200);
  await tenant.close(7n);
  await eventually("a block later", async () => (await status("/lease/7/1/1/status")).status === 404);
  assert.equal((await status("/lease/7/1/1/manifest")).status, 404);
  assert.equal((await status("/lease/7/1/1/service/cell/status")).status, 404);
});

async function told(asked: Promise<Answered>): Promise<[number, string]> {
  const { status, body } = await asked;
  return [status, body];
}
