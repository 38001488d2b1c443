import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "./gateway-client.ts";
import { startGatewayStage } from "./gateway-stage.ts";

test("a stranger asks a running provider who it is", async (t) => {
  const stage = await startGatewayStage(t);
  const { status, body } = await ask(stage, { path: "/address" });
  assert.deepEqual([status, body], [200, JSON.stringify({ address: stage.provider.address })]);
});

test("a tenant gets a lease with what runs for it, a token and a certificate", async (t) => {
  const { tenant, port } = await startGatewayStage(t);
  const lease = await tenant.deployed(1n);
  assert.equal(lease.owner, tenant.address);
  const certificate = await tenant.certificate();
  assert.equal((await ask({ port, certificate }, { path: "/address" })).status, 200);
  await tenant.revoke(certificate);
});
