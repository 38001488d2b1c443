import assert from "node:assert/strict";
import { test } from "node:test";
import {
  connectGateway,
  connectPlain,
  exchange,
  type GatewayResponse,
  parseResponse,
  sendRequest,
} from "../support/gateway-client.ts";
import { createOwner } from "../support/owner.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import {
  createComparison,
  createTranslation,
  type IntendedAnswer,
  type RecordedVector,
  readGatewayVectors,
  rejectedWith,
  requestOf,
  sent,
} from "./recorded-gateway.ts";

const intended: readonly IntendedAnswer[] = [
  {
    why: "the version that Console wants to see, and no list of Go modules",
    of: /^GET \/version$/,
    body: /^\{"akash":\{"name":"provider-services".*"version":"v0\.16\.0".*"cosmos_sdk_version":"v0\.53\.6"\},"kube":\{"major":/,
  },
  {
    why: "what we have seen of the API server is still so",
    of: /^API server unreachable: GET \/version$/,
    status: 200,
    headers: sent.json,
    body: /"kube":\{"major":/,
  },
  {
    why: "the age of what is shown is said",
    of: /GET \/status( with|$)/,
    headers: [["Content-Type", "application/json; charset=UTF-8"], ["Age", "0"], ...sent.nothing],
    // What it shows is held against the recording where it is made.
    body: /^\{"cluster":\{"leases":/,
  },
  {
    why: "whether the process lives, for who looks after it",
    of: /^GET \/healthz$/,
    status: 200,
    headers: sent.text,
    body: "ok\n",
  },
  {
    why: "the four metrics that operators' dashboards ask a provider for",
    of: /^GET \/metrics$/,
    status: 200,
    headers: [["Content-Type", "text/plain; version=0.0.4; charset=utf-8"], ...sent.nothing],
    body: /^# HELP provider_/,
  },
  {
    why: "bids are screened for those who ask so with a verb that sends something",
    of: /^GET \/v1\/bid-screening$/,
    status: 405,
    headers: sent.nothing,
    body: "",
  },
  {
    why: "bids are screened for those who say who they are",
    of: /^POST \/v1\/bid-screening$/,
    ...rejectedWith("unauthorized access"),
  },
  {
    why: "groups are validated for any client",
    of: /^GET \/validate$/,
    status: 422,
    body: "EOF\n",
  },
  {
    why: "the order of headers is the same for every answer",
    of: /^OPTIONS \*$/,
    headers: sent.nothing,
  },
  {
    why: "Node answers with HTTP/1.1; the connection ends as recorded",
    of: /^HTTP\/1\.0 GET/,
    line: "HTTP/1.1 200 OK",
  },
  {
    why: "Node's parser ends it where HTTP/2 begins",
    of: /^HTTP\/2 preface/,
    status: 400,
    headers: [
      ["Content-Type", "text/plain; charset=utf-8"],
      ["Connection", "close"],
    ],
    body: "400 Bad Request",
  },
  {
    why: "shells come with the streams",
    of: /^(POST|DELETE) \/lease\/\d+\/1\/1\/shell/,
    status: 404,
    headers: sent.text,
    body: "404 page not found\n",
  },
];

test("public routes → the recorded answers of the Go gateway", async () => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner);
  const { volatile, vectors } = readGatewayVectors("public.json");
  const others = { akash1rt6zsjelr8sfffauhxn3pu83jt8tkr3vmg3xdx: stage.provider.address };
  const translate = createTranslation({ [volatile["provider"] ?? ""]: stage.provider.address, ...others });
  const { compare, finish } = createComparison(intended, translate);
  await sendRequest(stage, { path: "/version" });
  const isCutOff = ({ name }: RecordedVector) => name.startsWith("API server unreachable");
  for (const vector of vectors) {
    if (isCutOff(vector)) stage.cluster.faults.leaderless();
    else stage.cluster.faults.clear();
    const answered = await answerTo(stage.port, vector, translate);
    if (vector.answer["raw"] !== undefined) assert.equal(answered, vector.answer["raw"], vector.name);
    else if (vector.answer["closed"] !== undefined) assert.equal(answered, "", vector.name);
    else {
      assert(typeof answered === "object", vector.name);
      compare(vector, answered);
    }
  }
  finish();
});

/** As text where it is no answer. */
async function answerTo(
  port: number,
  vector: RecordedVector,
  translate: (recorded: string) => string,
): Promise<GatewayResponse | string> {
  const { raw, auth } = vector.request;
  if (raw === undefined) {
    const request = requestOf(vector, translate);
    const isLarge = request.headers?.some(([, value]) => value === "<1,100,000 bytes of x>");
    return sendRequest({ port }, isLarge ? { ...request, headers: [["X-Big", "x".repeat(1_100_000)]] } : request);
  }
  const socket = auth === "no TLS" ? await connectPlain(port) : await connectGateway({ port });
  const bytes = await exchange(
    socket,
    raw,
    (sofar) => vector.answer["raw"] === undefined && parseResponse(sofar) !== undefined,
  );
  socket.destroy();
  if (vector.answer["raw"] !== undefined) return bytes.toString();
  return parseResponse(bytes) ?? bytes.toString();
}
