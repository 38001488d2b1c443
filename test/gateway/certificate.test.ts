import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { serialOf } from "../../src/chain/certificates/certificate-file.ts";
import { revokeCertificateMessage } from "../../src/chain/tx/messages.ts";
import { secretNameOf } from "../../src/gateway/certificate/certificate-store.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { connectGateway, requestOn } from "../support/gateway-client.ts";
import { namespace } from "../support/kube/simulated-kube.ts";
import { type GatewayStage, startGatewayStage } from "../support/stages/gateway-stage.ts";

const address = { path: "/address" };

async function serialsOnChain({ services, provider }: GatewayStage, state: "valid" | "revoked"): Promise<string[]> {
  const { items } = await (await services.chain).queries.certificates({ owner: provider.address, state });
  return items.map(({ serial }) => serial);
}

/** Undefined where the handshake fails. */
async function shown({ port }: GatewayStage): Promise<string | undefined> {
  const socket = await connectGateway({ port }).catch(() => undefined);
  const raw = socket?.getPeerCertificate().raw;
  socket?.destroy();
  return raw && `${serialOf(new X509Certificate(raw))}`;
}

test("revoked certificate → new handshakes get a valid one, open connections continue", async (t) => {
  const stage = await startGatewayStage(t, { gateway: { certificate: { keptIn: { namespace } } } });
  const first = await eventually("a certificate", () => shown(stage));
  assert.deepEqual(await serialsOnChain(stage, "valid"), [first]);
  const secret = stage.cluster.server.get(kinds.secret, { namespace, name: secretNameOf(stage.provider.address) });
  assert.deepEqual(Object.keys(secret?.["data"] ?? {}).sort(), [`${first}.crt`, `${first}.key`]);

  const before = await connectGateway({ port: stage.port });
  t.after(() => before.destroy());
  assert.equal((await requestOn(before, address)).status, 200);
  const { outbox, mirror } = await stage.services.chain;
  const message = revokeCertificateMessage(stage.provider.address, first);
  const id = await outbox.file({ subject: "test", why: "test", message, priority: "account" });
  const { result } = await outbox.wait(id);
  await mirror.reached(BigInt(result.height ?? 0) + 1n, AbortSignal.timeout(60_000));
  assert.notEqual(await shown(stage), first, "not served any more after a block");

  const second = await eventually("another certificate", () => shown(stage));
  assert.notEqual(second, first);
  assert.deepEqual(await serialsOnChain(stage, "valid"), [second]);
  assert.equal((await requestOn(before, address)).status, 200, "open connections are still served");
  await stage.restart();
  assert.equal(await eventually("the same one", () => shown(stage)), second);
});
