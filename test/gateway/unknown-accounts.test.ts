/** Authentication of known and unknown accounts over TLS, while the chain answers and while it does not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../../src/box/chain/node/node.ts";
import { makeCertificate } from "../../src/chain/certificates/make-certificate.ts";
import { type RpcTransport, unreachable } from "../../src/chain/comet/transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import { invariant } from "../../src/runtime/invariant.ts";
import { connectGateway, type GatewayResponse, requestOn, sendRequest } from "../support/gateway-client.ts";
import { type GatewayTenant, type TenantCertificate, tokenOf } from "../support/gateway-tenant.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";

const path = "/lease/7/1/1/status";

test("unknown accounts delay no tenant, a revoked certificate is rejected from its block on, and a silent chain locks no tenant out", async (t) => {
  let isSilent = false;
  const random = createSeededRandom(7);
  const unknown = Array.from({ length: 30 }, () => createSigner(random.bytes(32)));
  /** Chain queries about unknown accounts wait for this. */
  const theirTurn = Promise.withResolvers<void>();
  const isAboutUnknown = (query: unknown) =>
    unknown.some(({ address }) => JSON.stringify(query).includes(Buffer.from(address).toString("hex")));
  const nodes = (node: Node): RpcTransport[] => {
    const inner = node.transport();
    const send: RpcTransport["send"] = async (...call) => {
      if (isSilent) throw unreachable(inner.name, "it is away");
      if (isAboutUnknown(call[0])) await theirTurn.promise;
      return inner.send(...call);
    };
    return [{ ...inner, send }];
  };
  const { port, node, tenants, services } = await startGatewayStage(t, { tenants: 3, nodes });
  const [tenant, other, late] = tenants;
  invariant(tenant && other && late, "there are three");
  const [revoked, valid] = [await certify(tenant, 1n), await certify(tenant, 2n)];
  // A transaction puts the signer's key on the chain.
  for (const each of [other, late]) await certify(each, 1n);
  await tenant.lease(7n);
  const byToken = (authorization: string, localAddress = "127.0.0.1"): Promise<GatewayResponse> =>
    sendRequest({ port, tls: { localAddress } as object }, { path, authorization });

  // 404 means authenticated: there is no such lease, or it runs nothing.
  const first = await connectGateway({ port, certificate: revoked });
  const second = await connectGateway({ port, certificate: valid });
  for (const socket of [first, second]) assert.equal((await requestOn(socket, { path })).status, 404);
  const flood = unknown.map((signer) => byToken(`Bearer ${tokenOf(signer)}`));
  assert.equal((await byToken(tenant.bearer())).status, 404);
  assert.equal((await byToken(other.bearer(), "127.0.0.2")).status, 404, "found before any of them is");
  theirTurn.resolve();
  for (const { status } of await Promise.all(flood)) assert.equal(status, 401);

  await tenant.revoke(revoked);
  const chain = await services.chain;
  await chain.mirror.reached(node.height, AbortSignal.timeout(60_000));
  assert.equal((await requestOn(first, { path })).status, 401);
  assert.equal((await requestOn(second, { path })).status, 404, "the other one is as good as before");

  isSilent = true;
  assert.equal((await requestOn(second, { path })).status, 404);
  assert.equal((await byToken(tenant.bearer())).status, 404);
  const { status, body } = await byToken(late.bearer());
  assert.equal(status, 503);
  assert.match(body, /the chain cannot be asked for the key of akash1/);
  for (const socket of [first, second]) socket.destroy();
});

async function certify({ address: owner, send }: GatewayTenant, serial: bigint): Promise<TenantCertificate> {
  const times = { fromMs: Date.now() - 60_000, untilMs: Date.now() + 3_600_000 };
  const { certificate, publicKey, key } = makeCertificate({ owner, hosts: [], isServer: false, serial, ...times });
  const parts = { cert: Buffer.from(certificate), pubkey: Buffer.from(publicKey) };
  await send(packMessage("createCertificate", { owner, ...parts }));
  return { cert: certificate, key, serial: `${serial}` };
}
