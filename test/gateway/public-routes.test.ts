import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { sendRequest } from "../support/gateway-client.ts";
import { type GatewayStage, startGatewayStage } from "../support/stages/gateway-stage.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security: readonly Record<string, unknown>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

interface Openapi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> };
}

test("public routes of a running provider", async (t) => {
  const tokenFile = join(temporaryFolder(t), "token");
  const token = "0123456789abcdef0123456789abcdef";
  writeFileSync(tokenFile, `${token}\n`);
  const stage = await startGatewayStage(t, { gateway: { metricsTokenFile: tokenFile } });
  await metricsAreShownByHalves(stage, token);
  await everyRouteIsInTheDocument(stage);
  await invalidCredentialsAreRejected(stage);
  await outageIsReported(stage);
});

async function metricsAreShownByHalves(stage: GatewayStage, token: string): Promise<void> {
  const { body, header } = await sendRequest(stage, { path: "/metrics" });
  const names = [...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name).sort();
  const four = ["deployment_manager", "manifest_manager", "order_handler", "order_manager"];
  assert.deepEqual(
    names,
    four.map((name) => `provider_${name}`),
  );
  assert.equal(header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const all = await sendRequest(stage, { path: "/metrics", authorization: `Bearer ${token}` });
  assert.match(all.body, /^akash_provider_gateway_requests_total\{route="GET \/metrics",status="2xx"\} 1$/m);
  assert.match(all.body, /^akash_provider_gateway_connections \d+$/m);
  assert.match(all.body, /^akash_provider_gateway_request_seconds_count \d+$/m);
  for (const authorization of ["Bearer wrong", "Bearer", `Basic ${token}`, `Bearer ${token}x`, "Bearer  "]) {
    assert.equal((await sendRequest(stage, { path: "/metrics", authorization })).status, 401, authorization);
  }
}

/** By the rules of OpenAPI 3.1 that a document can break without being noticed. */
async function everyRouteIsInTheDocument(stage: GatewayStage): Promise<void> {
  const { status, body } = await sendRequest(stage, { path: "/openapi.json" });
  assert.equal(status, 200);
  const document = JSON.parse(body) as Openapi;
  assert.deepEqual(
    [document.openapi, document.info.title, document.info.version],
    ["3.1.0", "Akash Provider", "0.1.0"],
  );
  const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb, operation })),
  );
  const described = operations.map(({ path, verb }) => `${verb} ${path}`);
  for (const wanted of ["get /status", "get /version", "put /deployment/{dseq}/manifest", "post /hostname/migrate"]) {
    assert(described.includes(wanted), `${wanted} in ${described.join(", ")}`);
  }
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  for (const { path, verb, operation } of operations) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(
      (operation.parameters ?? []).map(({ name }) => name),
      names,
      path,
    );
    assert((operation.parameters ?? []).every((each) => each.in === "path" && each.required));
    assert.match(operation.operationId, /^[a-zA-Z]+$/);
    assert(operation.summary.length > 0);
    for (const [code, { description }] of Object.entries(operation.responses)) {
      assert(/^[1-5]\d\d$/.test(code) && description.length > 0, `${code} of ${path}`);
    }
    const schemes = operation.security.flatMap((each) => Object.keys(each));
    assert(schemes.every((scheme) => scheme in document.components.securitySchemes));
    // The same status as in the document.
    const answer = await sendRequest(stage, { method: verb.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, "1") });
    assert(![404, 405].includes(answer.status), `${verb} ${path}: ${answer.status}`);
    assert.equal(answer.status === 401, !operation.security.some((each) => Object.keys(each).length === 0), path);
  }
}

async function invalidCredentialsAreRejected(stage: GatewayStage): Promise<void> {
  for (const path of ["/address", "/version", "/healthz", "/readyz", "/openapi.json", "/lease/x/1/1/status"]) {
    const { status, body } = await sendRequest(stage, { path, authorization: "Bearer of.bad.news" });
    assert.deepEqual([status, body], [401, '{"message":"JWT is invalid"}'], path);
  }
  // An account has a key on the chain after its first transaction.
  await stage.tenant.lease(1n);
  const authorization = stage.tenant.bearer();
  const { status, body } = await sendRequest(stage, { path: "/lease/x/1/1/status", authorization });
  assert.deepEqual([status, body], [400, 'strconv.ParseUint: parsing "x": invalid syntax\n']);
  assert.equal((await sendRequest(stage, { path: "/lease/x/1/1/status" })).status, 401);
}

async function outageIsReported(stage: GatewayStage): Promise<void> {
  const ready = await sendRequest(stage, { path: "/readyz" });
  const dependencies = { chain: "ok", certificate: "ok", inventory: "ok", kubernetes: "ok" };
  assert.deepEqual([ready.status, JSON.parse(ready.body)], [200, { ready: true, dependencies }]);
  stage.cluster.faults.leaderless();
  stage.cluster.faults.cutWatches();
  const { body } = await eventually("the outage to be reported", async () => {
    const answer = await sendRequest(stage, { path: "/readyz" });
    return answer.status === 503 && answer;
  });
  // Operators' messages name their servers.
  assert.match(
    body,
    /^\{"ready":false,"dependencies":\{"chain":"ok".*"kubernetes":"the Kubernetes API server does not answer"/,
  );
  assert.equal((await sendRequest(stage, { path: "/healthz" })).body, "ok\n");
  stage.cluster.faults.clear();
}
