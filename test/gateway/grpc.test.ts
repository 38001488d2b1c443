/** Public gRPC methods of a whole provider, over TLS. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  BidScreeningRequest,
  BidScreeningResponse,
  Status,
} from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { writeGroupSpec } from "../../src/chain/codec/group-spec.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { providerV1Status } from "../../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { eventually } from "../support/eventually.ts";
import { frame, openGrpcClient } from "../support/grpc-client.ts";
import { createOwner } from "../support/owner.ts";
import { groupOfCpus, smallGroup } from "../support/stages/bid-stage.ts";
import { publicHost, startGatewayStage } from "../support/stages/gateway-stage.ts";

const path = (method: string) => `/akash.provider.v1.ProviderRPC/${method}`;

test("public gRPC methods", async (t) => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner);
  const { tenant } = stage;
  const url = `https://127.0.0.1:${stage.grpcPort}`;
  const client = openGrpcClient(owner, url, { rejectUnauthorized: false });

  await t.test("every quantity of the status is set, and the network's own codec reads it", async () => {
    const answer = await client.call(path("GetStatus"));
    equal(answer.status, grpcCodes.OK);
    deepEqual(Status.decode(answer.message).publicHostnames, [publicHost]);
    const { cluster, bidEngine, manifest, timestamp } = providerV1Status.decode(answer.message);
    ok(cluster?.leases && bidEngine && manifest && timestamp !== undefined);
    const { inventory } = cluster;
    ok(inventory?.cluster && inventory.cluster.nodes.length > 0);
    const texts = quantitiesIn(inventory);
    ok(texts.length > 20);
    deepEqual(
      texts.filter((text) => !/^-?\d/.test(text)),
      [],
    );
    equal(inventory.leasedIp?.allocated?.string, "0");
  });

  await t.test("status stream → the current status, then each change, and nothing is left after it", async () => {
    const { messages, stream } = client.stream(path("StreamStatus"));
    await eventually("the status", () => messages.length === 1);
    await tenant.deployed(7n);
    const active = () => providerV1Status.decode(messages.at(-1) ?? Buffer.alloc(0)).cluster?.leases?.active;
    await eventually("the lease in it", () => active() === 1);
    stream.close();
  });

  await t.test(
    "invalid credentials → rejected, also for public methods, and no header crashes the process",
    async () => {
      for (const authorization of ["Bearer x", "x", "Bearer a b", "Basic eDp5"]) {
        const { status, words } = await client.call(path("GetStatus"), new Uint8Array(), { authorization });
        equal(status, grpcCodes.Unauthenticated, authorization);
        match(words, /JWT|authorization/, authorization);
      }
      const good = { authorization: tenant.token() };
      equal((await client.call(path("GetStatus"), new Uint8Array(), good)).status, grpcCodes.OK, "a bare token");
      const { cert, key } = await tenant.certificate();
      const own = openGrpcClient(owner, url, { rejectUnauthorized: false, cert, key });
      equal((await own.call(path("GetStatus"))).status, grpcCodes.OK, "a certificate on the chain");
    },
  );

  await t.test("ValidateGroupSpec passes a group that fits, and gives the reason for one that does not", async () => {
    const validate = async (group: GroupSpec) => {
      const request = BidScreeningRequest.fromPartial({ groupSpec: writeGroupSpec(group) });
      const message = BidScreeningRequest.encode(request).finish();
      const reply = await client.call(path("ValidateGroupSpec"), message, { authorization: tenant.bearer() });
      equal(reply.status, grpcCodes.OK, reply.words);
      const { passed, reasons } = BidScreeningResponse.decode(reply.message);
      return [passed, ...reasons].join();
    };
    await eventually("a pass", async () => (await validate(smallGroup)) === "true");
    match(await validate(groupOfCpus(384_000n)), /^false,.*sufficient resources/);
  });

  await t.test("compressed request → compressed response; a decompression bomb is rejected", async () => {
    const headers = { "grpc-encoding": "gzip" };
    const reply = await client.send(path("GetStatus"), frame(gzipSync(Buffer.alloc(0)), 1), headers);
    deepEqual([reply.status, reply.headers["grpc-encoding"]], [grpcCodes.OK, "gzip"]);
    const bomb = frame(gzipSync(Buffer.alloc(5 * 1024 * 1024)), 1);
    equal((await client.send(path("GetStatus"), bomb, headers)).status, grpcCodes.ResourceExhausted);
  });

  await t.test("calls are counted by method and status, and no label has text from a client", async () => {
    const counted = async () => {
      const text = await stage.services.metrics.text();
      const lines = text.matchAll(/^akash_provider_gateway_grpc_calls_total\{(.*)\} (\d+)$/gm);
      return new Map([...lines].map(([, labels = "", count]) => [labels.replaceAll(/\w+="([^"]*)"/g, "$1"), count]));
    };
    const streams = (count: number) =>
      eventually(`${count} streams`, async () =>
        (await stage.services.metrics.text()).includes(`\nakash_provider_gateway_grpc_streams ${count}\n`),
      );
    await streams(0);
    const before = await counted();
    equal((await client.call(path("Strange"))).status, grpcCodes.Unimplemented);
    equal((await client.call("/strange.Service/Method")).status, grpcCodes.Unimplemented);
    const { messages, stream } = client.stream(path("StreamStatus"));
    await eventually("the status", () => messages.length === 1);
    await streams(1);
    stream.close();
    await client.call(path("GetStatus"));
    const left = "akash.provider.v1.ProviderRPC,StreamStatus,Canceled";
    const after = await eventually("the one who left", async () => {
      const now = await counted();
      return Number(now.get(left)) > Number(before.get(left) ?? 0) && now;
    });
    const more = [...after].map(([labels, count]) => [labels, Number(count) - Number(before.get(labels) ?? 0)]);
    deepEqual(
      more.filter(([, count]) => count !== 0),
      [
        ["akash.provider.v1.ProviderRPC,GetStatus,OK", 1],
        [left, 1],
        ["other,other,Unimplemented", 2],
      ],
    );
    equal(before.get("akash.provider.v1.ProviderRPC,GetStatus,Unauthenticated"), "4");
  });
});

/** Every Quantity in it, wherever it stands. */
function quantitiesIn(value: unknown): string[] {
  if (value instanceof Map) return [...value.values()].flatMap(quantitiesIn);
  if (Array.isArray(value)) return value.flatMap(quantitiesIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => (key === "string" ? [String(each)] : quantitiesIn(each)));
}
