/** The gateway over gRPC, on a whole provider and over real TLS. */
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { Status } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { grpcCodes } from "../src/runtime/grpc/grpc-status.ts";
import { publicHost, startGatewayStage } from "./gateway-stage.ts";
import { openGrpcClient } from "./grpc-client.ts";

const getStatus = "/akash.provider.v1.ProviderRPC/GetStatus";

test("anybody is told the status, and whoever shows credentials shows good ones", async (t) => {
  const stage = await startGatewayStage(t);
  const client = openGrpcClient(t, `https://127.0.0.1:${stage.grpcPort}`, { rejectUnauthorized: false });
  const told = await client.call(getStatus);
  equal(told.status, grpcCodes.OK);
  deepEqual(Status.decode(told.message).publicHostnames, [publicHost]);

  for (const authorization of ["Bearer x", "x", "Bearer a b", "Basic eDp5"]) {
    const { status, words } = await client.call(getStatus, new Uint8Array(), { authorization });
    equal(status, grpcCodes.Unauthenticated, authorization);
    match(words, /JWT|authorization/, authorization);
  }
  equal((await client.call(getStatus)).status, grpcCodes.OK, "and the provider goes on");
});
