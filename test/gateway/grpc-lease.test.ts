/** Leases over gRPC, with a client of @connectrpc/connect that uses reflection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { leaseServicesNamed } from "../../src/gateway/grpc/grpc-auth.ts";
import {
  providerLeaseV1ServiceLogsRequest,
  providerLeaseV1ServiceLogsResponse,
  providerLeaseV1ServiceStatusRequest,
  providerLeaseV1ServiceStatusResponse,
} from "../../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { connectTo, reflect } from "../support/connect-client.ts";
import { eventually } from "../support/eventually.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { frame, openGrpcClient } from "../support/grpc-client.ts";
import { createOwner } from "../support/owner.ts";
import { cell, shop } from "../support/samples/lease-sdl.ts";
import { protoJson } from "../support/samples/manifest-wire.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";

const leaseRpc = "akash.provider.lease.v1.LeaseRPC";

test("manifests, status and logs over gRPC, as the credentials permit", async (t) => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner, {
    tenants: 2,
    behaviour: (_, { container: { name } }) =>
      name === "cell"
        ? { logs: (line) => (line < 20_000 ? "x".repeat(100) : undefined) }
        : { logs: (line) => `${name} ${line}`, logEveryMs: 50 },
  });
  const { tenant, tenants, grpcPort } = stage;
  const [, other] = tenants;
  assert.ok(other);
  const descriptors = await reflect(owner, stage);
  const by = (authorization?: string) =>
    connectTo({ grpcPort, ...(authorization !== undefined && { authorization }) }, descriptors, leaseRpc);
  const leaseId = { dseq: "7", gseq: 1, oseq: 1 };
  const manifest = protoJson(shop({ extras: true }).manifest);
  await tenant.lease(7n, shop({ extras: true }));
  await other.lease(7n, cell());

  await t.test("manifest over gRPC has the hash of its JSON, and is deployed", async () => {
    const sdl = shop({ extras: true });
    assert.deepEqual(await by(tenant.bearer()).unary("SendManifest", { leaseId, manifest }), {});
    const { body } = await sendRequest(stage, { path: "/lease/7/1/1/manifest", authorization: tenant.bearer() });
    assert.deepEqual(JSON.parse(body), JSON.parse(JSON.stringify(sdl.manifest)));
    const again = await sendRequest(stage, {
      ...{ method: "PUT", path: "/deployment/7/manifest", authorization: tenant.bearer() },
      body: JSON.stringify(sdl.manifest),
    });
    assert.equal(again.status, 200, again.body);
  });

  await t.test("service status is the same as over REST", async () => {
    const call = by(tenant.bearer());
    const services = await eventually("services", async () => {
      const { services } = (await call.unary("ServiceStatus", { leaseId })) as unknown as Statuses;
      const [page] = services;
      const isThere = services.length === 2 && page?.ips.length === 1 && `${page.status["uris"]}` !== "";
      return isThere && services.every(({ status }) => status["readyReplicas"] === 1) && services;
    });
    const rest = await sendRequest(stage, { path: "/lease/7/1/1/status", authorization: tenant.bearer() });
    const { services: shown, forwarded_ports: ports, ips } = JSON.parse(rest.body);
    for (const { name, status } of services) {
      const { uris, observedGeneration, ...counts } = status;
      const { uris: hosts, observed_generation: generation, name: _, ...same } = shown[name];
      assert.deepEqual([uris, observedGeneration], [hosts ?? [], `${generation}`]);
      const camel = (each: string) => each.replace(/_(\w)/g, (_, char: string) => char.toUpperCase());
      assert.deepEqual(counts, Object.fromEntries(Object.entries(same).map(([each, count]) => [camel(each), count])));
    }
    const [page] = services;
    assert.deepEqual(page?.ports, ports.page);
    const [{ Port: port, ExternalPort: externalPort, Protocol: protocol, IP: ip }] = ips.page;
    assert.deepEqual(page?.ips, [{ port, externalPort, protocol, ip }]);
    const one = (await call.unary("ServiceStatus", { leaseId, services: ["store"] })) as unknown as Statuses;
    assert.deepEqual(
      one.services.map(({ name }) => name),
      ["store"],
    );
  });

  await t.test("bare token, Bearer token and certificate are accepted", async () => {
    const request = { leaseId: { ...leaseId, owner: tenant.address, provider: stage.provider.address } };
    assert.ok(await by(tenant.token()).unary("ServiceStatus", request));
    const certificate = await tenant.certificate();
    const connecting = { grpcPort, certificate: { cert: certificate.cert, key: certificate.key } };
    assert.ok(await connectTo(connecting, descriptors, leaseRpc).unary("ServiceStatus", request));
    await assertRejected(
      connectTo({ ...connecting, authorization: tenant.bearer() }, descriptors, leaseRpc),
      Code.Unauthenticated,
    );
  });

  await t.test("compressed request is decompressed only with valid credentials", async () => {
    const { send } = openGrpcClient(owner, `https://127.0.0.1:${grpcPort}`, { rejectUnauthorized: false });
    const malformed = frame(Buffer.from("not gzip"), 1);
    const status = async (method: string, headers: Record<string, string>) =>
      (await send(`/akash.provider.${method}`, malformed, { "grpc-encoding": "gzip", ...headers })).status;
    for (const name of ["SendManifest", "ServiceStatus", "StreamServiceStatus", "ServiceLogs", "StreamServiceLogs"]) {
      assert.equal(await status(`lease.v1.LeaseRPC/${name}`, {}), grpcCodes.Unauthenticated, name);
      const good = { authorization: tenant.bearer() };
      assert.equal(await status(`lease.v1.LeaseRPC/${name}`, good), grpcCodes.Internal, name);
    }
    const bad = { authorization: "garbage" };
    for (const name of ["GetStatus", "StreamStatus", "BidScreening", "ValidateGroupSpec"])
      assert.equal(await status(`v1.ProviderRPC/${name}`, bad), grpcCodes.Unauthenticated, name);
  });

  await t.test("missing, invalid or insufficient credentials → rejected", async () => {
    await assertRejected(by(), Code.Unauthenticated);
    await assertRejected(by("garbage"), Code.Unauthenticated);
    await assertRejected(by("Basic dXNlcg=="), Code.Unauthenticated);
    await assertRejected(by(""), Code.Unauthenticated);
    await assertRejected(by(tenant.bearer({ leases: { access: "scoped", scope: ["logs"] } })), Code.PermissionDenied);
    await assertRejected(by(tenant.bearer()), Code.PermissionDenied, { owner: other.address });
    await assertRejected(by(tenant.bearer()), Code.NotFound, { provider: other.address });
    await assertRejected(by(tenant.bearer()), Code.NotFound, { dseq: "8" });
    await assertRejected(by(other.bearer()), Code.NotFound);
  });

  await t.test("token for one service → that service, the other is rejected", async () => {
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

  await t.test("logs are returned at once, and followed", async () => {
    const call = by(tenant.bearer());
    const { services } = (await call.unary("ServiceLogs", { leaseId })) as unknown as Logs;
    assert.deepEqual(
      services.map(({ name }) => name),
      ["page", "store"],
    );
    assert.match(textOf(services[0]), /^page 0\npage 1\n/);
    let followed = "";
    for await (const answer of call.stream("StreamServiceLogs", { leaseId, services: ["store"] })) {
      for (const entry of (answer as unknown as Logs).services) {
        assert.equal(entry.name, "store");
        followed += textOf(entry);
      }
      if (followed.split("\n").length > 10) break;
    }
    const lines = followed.split("\n").slice(0, 10);
    assert.deepEqual(
      lines,
      lines.map((_, at) => `store ${at}`),
    );
    await assertLogsRejected(
      by(tenant.bearer({ leases: { access: "scoped", scope: ["status"] } })),
      Code.PermissionDenied,
    );
    await assertLogsRejected(by(), Code.Unauthenticated);
  });

  await t.test("status stream begins with the current status, then sends changes", async () => {
    const statuses = by(tenant.bearer()).stream("StreamServiceStatus", { leaseId, services: ["page"] });
    const shown = async () => {
      const { value } = await statuses.next();
      return (value as unknown as Statuses).services.map(({ name, status }) => `${name} ${status["readyReplicas"]}`);
    };
    assert.deepEqual(await shown(), ["page 1"]);
    await sendRequest(stage, { method: "DELETE", path: "/deployment/7/manifest", authorization: tenant.bearer() });
    await eventually("none", async () => (await shown()).length === 0);
    await by(tenant.bearer()).unary("SendManifest", { leaseId, manifest });
    await eventually("one again", async () => (await shown())[0] === "page 1");
    await statuses.return(undefined);
  });

  await t.test("a client of @grpc/grpc-js reads answers, streams and rejections", async () => {
    const secure = credentials.createSsl(null, null, null, { rejectUnauthorized: false });
    const client = new Client(`127.0.0.1:${grpcPort}`, secure, { "grpc.ssl_target_name_override": "localhost" });
    owner.after(() => client.close());
    const metadata = new Metadata();
    metadata.set("authorization", tenant.bearer());
    const id = { owner: "", dseq: 7n, gseq: 1, oseq: 1, provider: "", bseq: 0 };
    const request = Buffer.from(providerLeaseV1ServiceStatusRequest.encode({ leaseId: id, services: [] }));
    const same = (bytes: Buffer) => bytes;
    const unary = (method: string, sent: Metadata) =>
      new Promise<Buffer>((resolve, reject) => {
        client.makeUnaryRequest(
          `/${leaseRpc}/${method}`,
          same,
          same,
          request,
          sent,
          { deadline: Date.now() + 60_000 },
          (error, answer) => (error ? reject(error) : resolve(answer ?? Buffer.alloc(0))),
        );
      });
    const { services } = providerLeaseV1ServiceStatusResponse.decode(await unary("ServiceStatus", metadata));
    assert.deepEqual(
      services.map(({ name }) => name),
      ["page", "store"],
    );
    await assert.rejects(unary("ServiceStatus", new Metadata()), {
      code: grpcCodes.Unauthenticated,
      details: "unauthorized access",
    });
    await assert.rejects(unary("AttestationQuote", metadata), { code: grpcCodes.Unimplemented });
    const stream = client.makeServerStreamRequest(`/${leaseRpc}/StreamServiceLogs`, same, same, request, metadata);
    const [first] = (await once(stream, "data")) as [Buffer];
    assert.ok(providerLeaseV1ServiceLogsResponse.decode(first).services.length > 0);
    const ended = once(stream, "error");
    stream.cancel();
    assert.equal(((await ended)[0] as { code: number }).code, grpcCodes.Canceled);
  });

  await t.test("impossible requests → a status with the reason", async () => {
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
    const services = Array.from({ length: leaseServicesNamed + 1 }, () => "");
    assert.match((await failure(call.unary("ServiceStatus", { leaseId, services }))).rawMessage, /more items/);
  });

  await t.test("streams end with the token, and with the lease", async () => {
    await other.deployed(8n, cell());
    const ends = async (client: ReturnType<typeof by>, method: string) => {
      for await (const _ of client.stream(method, { leaseId }));
    };
    let exp = 0;
    const openShort = async (tokenS: number): Promise<ReturnType<typeof openDeaf>> => {
      exp = Math.floor(Date.now() / 1_000) + tokenS;
      const deaf = openDeaf(other.token({ exp }));
      const isOver = () => Date.now() >= exp * 1_000;
      await eventually("as much as its window holds", () => deaf.stream.state.localWindowSize === 0 || isOver());
      // On a slow machine the token may expire before that, and the stream end with all that was sent.
      return isOver() ? openShort(2 * tokenS) : deaf;
    };
    const deaf = await openShort(2);
    const short = failure(ends(by(tenant.bearer({ exp })), "StreamServiceLogs"));
    const [logs, status] = ["StreamServiceLogs", "StreamServiceStatus"].map((method) =>
      failure(ends(by(tenant.bearer()), method)),
    );
    assert.equal((await short).code, Code.Unauthenticated);
    await eventually("the end of a stream whose reader takes nothing of it", () => deaf.ended);
    assert.equal(deaf.stream.rstCode, constants.NGHTTP2_CANCEL);
    await tenant.close(7n);
    for (const over of [await logs, await status]) {
      assert.equal(over?.code, Code.NotFound);
      assert.match(over?.rawMessage ?? "", /the lease is closed/);
    }
  });

  /** A stream that is not read. */
  function openDeaf(authorization: string) {
    const session = connect(`https://127.0.0.1:${grpcPort}`, { rejectUnauthorized: false });
    owner.after(() => session.destroy());
    const headers = { ":method": "POST", "content-type": "application/grpc", te: "trailers", authorization };
    const stream = session.request({ ":path": `/${leaseRpc}/StreamServiceLogs`, ...headers });
    const id = { owner: "", dseq: 8n, gseq: 1, oseq: 1, provider: "", bseq: 0 };
    stream.end(frame(providerLeaseV1ServiceLogsRequest.encode({ leaseId: id, services: [] })));
    stream.on("error", () => undefined);
    const ended = new Promise<true>((resolve) => stream.once("close", () => resolve(true)));
    return { stream, ended };
  }

  async function assertLogsRejected(client: ReturnType<typeof by>, code: Code): Promise<void> {
    assert.equal((await failure(client.unary("ServiceLogs", { leaseId }))).code, code);
    assert.equal((await failure(client.stream("StreamServiceLogs", { leaseId }).next())).code, code);
  }

  async function assertRejected(client: ReturnType<typeof by>, code: Code, more: object = {}): Promise<void> {
    const { code: got, message } = await failure(client.unary("ServiceStatus", { leaseId: { ...leaseId, ...more } }));
    assert.equal(got, code, message);
  }
});

interface Logs {
  readonly services: readonly { readonly name: string; readonly logs: string }[];
}

function textOf(entry: Logs["services"][number] | undefined): string {
  return Buffer.from(entry?.logs ?? "", "base64").toString();
}

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
