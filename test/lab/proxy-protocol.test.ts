/** The gateway behind a real Traefik that passes TLS through: clients are known by their own addresses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlPlaneMissing } from "../../lab/own-control-plane.ts";
import { startTraefik } from "../../lab/traefik/own-traefik.ts";
import { anonymous, type CallerIdentity } from "../../src/gateway/auth/identity.ts";
import { noCertificate } from "../../src/gateway/certificate/file-certificate.ts";
import { startGrpcGateway } from "../../src/gateway/grpc/grpc-gateway.ts";
import { json } from "../../src/gateway/rest/answer.ts";
import { createRequestBudget } from "../../src/gateway/rest/connections.ts";
import { rateLimitKeyOf } from "../../src/gateway/rest/rate-limit-key.ts";
import { createRest } from "../../src/gateway/rest/rest.ts";
import type { PublicRoute } from "../../src/gateway/rest/route.ts";
import { startRestServer } from "../../src/gateway/rest/server.ts";
import { realClock } from "../../src/runtime/clock.ts";
import type { GrpcMethod } from "../../src/runtime/grpc/methods.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { certificateOf } from "../support/stages/gateway-stage.ts";

const path = "/test.Service/One";
const file = { name: "test.proto", package: "test", services: { Service: [] } };
const returnPeer: GrpcMethod = {
  kind: "unary",
  answer: (_, { socket }) => ({ message: Buffer.from(rateLimitKeyOf(socket)) }),
};
const [firstPort, secondPort, grpcPort] = [24_431, 24_432, 24_441];

test("through Traefik, with the PROXY protocol in version 1 and 2, REST and gRPC know the client's address", {
  skip: controlPlaneMissing(["traefik"]),
}, async (t) => {
  const sources: string[] = [];
  const identify = ({ source }: { readonly source: string }): CallerIdentity => {
    sources.push(source);
    return anonymous;
  };
  const common = {
    ...{ listen: { host: "127.0.0.1", port: 0 }, publicHost: undefined, proxyProtocolFrom: ["127.0.0.0/8"] },
    ...{ budget: createRequestBudget(), clock: realClock, log: silentLog },
    ...{ onHandshakeFailure: () => undefined, onRejection: () => undefined },
  };
  const own = certificateOf("akash1provider");
  const hello: PublicRoute = {
    ...{ method: "GET", path: "/hello", access: "public", about: "", answers: {} },
    handle: () => json("{}"),
  };
  const server = await startRestServer({
    ...{ ...common, certificates: { own, public: noCertificate } },
    rest: createRest({ ...common, routes: [hello], authenticator: { identify } }),
  });
  t.after(() => server.close());
  const gateway = await startGrpcGateway({ ...common, own, services: [{ file, methods: [[path, returnPeer]] }] });
  t.after(() => gateway.close());
  const host = await startTraefik(t, [
    { port: firstPort, to: `127.0.0.1:${server.port}`, proxyProtocol: 1 },
    { port: secondPort, to: `127.0.0.1:${server.port}`, proxyProtocol: 2 },
    { port: grpcPort, to: `127.0.0.1:${gateway.port}`, proxyProtocol: 2 },
  ]);
  const tls = (localAddress: string) => ({ host, localAddress }) as object;
  for (const [port, client] of [
    [firstPort, "127.0.0.7"],
    [secondPort, "127.0.0.8"],
  ] as const) {
    // Its routes come from a file, some moments after its ports.
    await eventually("an answer", async () => {
      const answer = await sendRequest({ port, tls: tls(client) }, { path: "/hello" }).catch(() => undefined);
      return answer?.status === 200;
    });
    assert.equal(sources.at(-1), client);
  }
  const client = openGrpcClient(t, `https://${host}:${grpcPort}`, {
    ...{ rejectUnauthorized: false, localAddress: "127.0.0.9" },
  } as object);
  assert.equal((await client.call(path)).message.toString(), "127.0.0.9");
});
