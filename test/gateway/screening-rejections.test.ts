/** Failed bid checks over REST, gRPC and `screen`: the same reasons, over TLS with real messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BidScreeningRequest, BidScreeningResponse } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { screen } from "../../src/bidengine/decision/decide.ts";
import { writeGroupSpec } from "../../src/chain/codec/group-spec.ts";
import { identityOf } from "../../src/gateway/auth/identity.ts";
import { noCertificate } from "../../src/gateway/certificate/file-certificate.ts";
import { createIdentify } from "../../src/gateway/grpc/grpc-auth.ts";
import { startGrpcGateway } from "../../src/gateway/grpc/grpc-gateway.ts";
import { screeningMethods } from "../../src/gateway/grpc/provider-rpc.ts";
import { screeningRoutes } from "../../src/gateway/rest/bid-screening.ts";
import { createRequestBudget } from "../../src/gateway/rest/connections.ts";
import { createRest } from "../../src/gateway/rest/rest.ts";
import { startRestServer } from "../../src/gateway/rest/server.ts";
import { reasonsOf } from "../../src/gateway/screening/bid-answer.ts";
import { ScreeningBusy } from "../../src/gateway/screening/screener.ts";
import { parseAddress } from "../../src/market/address.ts";
import { formatDecCoin, parseDecCoin } from "../../src/market/coin.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { realClock as clock } from "../../src/runtime/clock.ts";
import { providerV1BidScreeningResponse, providerV1ServiceFile } from "../../src/runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { silentLog as log } from "../../src/runtime/log.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import type { Owner } from "../support/owner.ts";
import { someInputs, tenant } from "../support/samples/decision-samples.ts";
import { cheap, type FailingOrder, failingOrders } from "../support/samples/failing-orders.ts";
import { certificateOf } from "../support/stages/gateway-stage.ts";
import { groupSpecJson } from "./group-spec-json.ts";

const { signal } = new AbortController();

interface Screened {
  readonly passed: boolean;
  readonly reasons: readonly string[];
  readonly price: string | undefined;
  readonly offers: number;
}

/** A gateway in front of the bid engine's own decision, taken with whatever inputs a test sets. */
async function startScreening(t: Owner) {
  let order: Pick<FailingOrder, "inputs" | "pricing"> = { inputs: someInputs() };
  let busyS: number | undefined;
  const owner = parseAddress(tenant);
  const decide = (group: GroupSpec) =>
    screen({ owner, group, reclamationWindowNs: undefined }, order.inputs.context, order.pricing ?? cheap, signal);
  const screening = {
    async screen(_: string, group: GroupSpec) {
      if (busyS !== undefined) throw new ScreeningBusy(busyS);
      return decide(group);
    },
    hostRejection: ([host]: readonly string[]) => (host === "taken.example.com" ? "it is in use" : undefined),
  };
  const authenticator = { identify: () => identityOf(owner, { access: "full" }, clock.now() + 60_000) };
  const own = certificateOf("the provider");
  const budget = createRequestBudget();
  const common = { budget, clock, log, onHandshakeFailure: () => undefined, onRejection: () => undefined };
  const listen = { host: "127.0.0.1", port: 0 };
  const rest = await startRestServer({
    ...{ listen, publicHost: undefined, certificates: { own, public: noCertificate }, ...common },
    rest: createRest({ routes: screeningRoutes(screening), authenticator, budget, clock, log }),
  });
  t.after(() => rest.close());
  const methods = screeningMethods(createIdentify(authenticator), screening);
  const grpc = await startGrpcGateway({
    ...{ listen, own, services: [{ file: providerV1ServiceFile, methods }], ...common },
  });
  t.after(() => grpc.close());
  const client = openGrpcClient(t, `https://127.0.0.1:${grpc.port}`, { rejectUnauthorized: false });
  const post = (body: object) =>
    sendRequest({ port: rest.port }, { method: "POST", path: "/v1/bid-screening", body: JSON.stringify(body) });
  const call = (method: string, message: Uint8Array) =>
    client.call(`/akash.provider.v1.ProviderRPC/${method}`, message, { authorization: "a token" });
  return {
    set(next: typeof order, retryAfterS?: number) {
      [order, busyS] = [next, retryAfterS];
    },
    decide,
    post,
    call,
    async overRest(group: GroupSpec, hostnames: string[] = []): Promise<Screened> {
      const { status, body } = await post({ group_spec: groupSpecJson(group), hostnames });
      assert.equal(status, 200, body);
      const { passed, reasons = [], price, resource_offers: offers = [] } = JSON.parse(body);
      return { passed, reasons, price: price && priceOf(price), offers: offers.length };
    },
    async overGrpc(method: string, group: GroupSpec, hostnames: string[] = []): Promise<Screened> {
      const request = BidScreeningRequest.fromPartial({ groupSpec: writeGroupSpec(group), hostnames });
      const reply = await call(method, BidScreeningRequest.encode(request).finish());
      assert.equal(reply.status, grpcCodes.OK, reply.words);
      const { passed, reasons, price } = BidScreeningResponse.decode(reply.message);
      // In the npm package there was one offer for all of them.
      const { resourceOffers } = providerV1BidScreeningResponse.decode(reply.message);
      return { passed, reasons, price: price && priceOf(price), offers: resourceOffers.length };
    },
  };
}

function priceOf({ denom, amount }: { readonly denom: string; readonly amount: string }): string {
  return formatDecCoin(parseDecCoin(`${amount}${denom}`));
}

test("each failed check → the same reasons over REST, gRPC and `screen`", async (t) => {
  const stage = await startScreening(t);
  const all: Readonly<Record<string, Pick<FailingOrder, "inputs" | "pricing">>> = {
    ...failingOrders,
    "nothing, when all of them pass": { inputs: someInputs() },
  };
  for (const [name, order] of Object.entries(all)) {
    await t.test(name, async () => {
      stage.set(order);
      const { group } = order.inputs.request;
      const decision = await stage.decide(group);
      const passed = decision.verdict === "bid";
      const expected: Screened = {
        passed,
        reasons: passed ? [] : reasonsOf(decision, group),
        price: passed && decision.price ? formatDecCoin(decision.price) : undefined,
        offers: passed ? group.units.length : 0,
      };
      assert.equal(passed || expected.reasons.length > 0, true);
      assert.deepEqual(await stage.overRest(group), expected);
      for (const method of ["BidScreening", "ValidateGroupSpec"])
        assert.deepEqual(await stage.overGrpc(method, group), expected);
    });
  }
});

test("host taken, group missing, too many requests, unreadable → the same answer in all APIs", async (t) => {
  const stage = await startScreening(t);
  const { group } = someInputs().request;
  for (const screened of [
    await stage.overRest(group, ["taken.example.com"]),
    await stage.overGrpc("BidScreening", group, ["taken.example.com"]),
  ]) {
    assert.deepEqual(screened.reasons, ["hostname unavailable: it is in use"]);
  }
  const none = BidScreeningResponse.decode((await stage.call("BidScreening", new Uint8Array())).message);
  assert.deepEqual(none.reasons, ["missing group spec"]);
  const garbage = await stage.call("BidScreening", Buffer.from([0x0a, 0xff]));
  assert.deepEqual([garbage.status, garbage.words.includes("BidScreeningRequest")], [grpcCodes.Internal, true]);
  stage.set({ inputs: someInputs() }, 7);
  const request = BidScreeningRequest.encode(
    BidScreeningRequest.fromPartial({ groupSpec: writeGroupSpec(group) }),
  ).finish();
  const rejected = await stage.call("BidScreening", request);
  assert.deepEqual([rejected.status, rejected.headers["retry-after"]], [grpcCodes.ResourceExhausted, "7"]);
  assert.equal((await stage.post({ group_spec: groupSpecJson(group) })).header("Retry-After"), "7");
});
