/** A client in Go, of google.golang.org/grpc, uses every method of a provider whose leases run on a real cluster. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Code } from "@connectrpc/connect";
import { buildProgram } from "../../lab/build.ts";
import { logsImage } from "../../lab/images.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import type { GroupSpec } from "../../src/market/group-spec.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { readSdl } from "../../src/market/sdl/sdl.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { connectTo, reflect } from "../support/connect-client.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { protoJson } from "../support/samples/manifest-wire.ts";
import { certificateOf, startGatewayStage } from "../support/stages/gateway-stage.ts";
import { labIsMissing, podStartsWithinMs, removeNamespace } from "./cluster.ts";
import { providerAccount } from "./provider-account.ts";

const sdl = readSdl(`
version: "2.0"
services:
  printer: { image: ${logsImage}, env: ["INTERVAL_S=0.2"], expose: [{ port: 8080, as: 80, to: [{ global: true }] }] }
profiles:
  compute: { one: { resources: { cpu: { units: 0.1 }, memory: { size: 32Mi }, storage: { size: 32Mi } } } }
  placement: { lab: { pricing: { one: { denom: uact, amount: 10000 } } } }
deployment: { printer: { lab: { profile: one, count: 1 } } }
`);

const reflectionOf = (version: string) => `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;

type Json = Readonly<Record<string, unknown>>;

interface Called {
  readonly code: string;
  readonly message: string;
  readonly answers: readonly Json[];
}

const [lease, provider] = ["akash.provider.lease.v1.LeaseRPC", "akash.provider.v1.ProviderRPC"];

test("a client in Go calls every method that reflection lists, of a provider on a real cluster", {
  skip: labIsMissing,
}, async (t) => {
  const program = await buildProgram("grpc-client");
  const account = await providerAccount(t);
  const ownCertificate = certificateOf("the provider");
  const stage = await startGatewayStage(t, {
    ownCertificate,
    leases: { manifestNamespace: account.leaseNamespace },
    kube: () =>
      createHttpKube(
        { kubeconfig: account.kubeconfig, fieldManager: "akash-provider" },
        { clock: realClock, random: realRandom, log: silentLog },
      ),
  });
  const { tenant } = stage;
  const folder = temporaryFolder(t);
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const trust = file("provider.pem", ownCertificate.current?.certificate ?? "");
  const called = new Set<string>();

  async function call(method: string, request: object = {}, ...flags: string[]): Promise<Called> {
    called.add(method);
    const lines = await run(...flags, `127.0.0.1:${stage.grpcPort}`, method, JSON.stringify(request));
    const [end, ...before] = lines.map((line) => JSON.parse(line) as Json).reverse();
    return { code: String(end?.["code"]), message: String(end?.["message"]), answers: before.reverse() };
  }

  function run(...args: string[]): Promise<string[]> {
    return new Promise((resolve) => {
      execFile(program, ["-trust", trust, ...args], (_, out) => resolve(out.trim().split("\n")));
    });
  }

  const dseq = BigInt(Date.now());
  const leased = await tenant.lease(dseq, sdl);
  t.after(() => removeNamespace(leaseNamespace(leased)));
  const leaseId = { dseq: `${dseq}`, gseq: 1, oseq: 1 };
  const manifest = protoJson(sdl.manifest);
  const by = ["-authorization", tenant.bearer()];
  const bid = { groupSpec: groupJson() };

  await t.test("manifests, services and logs of a lease", async () => {
    assert.equal((await call(`${lease}/SendManifest`, { leaseId, manifest })).code, "Unauthenticated");
    const sent = await call(`${lease}/SendManifest`, { leaseId, manifest }, ...by, "-gzip");
    assert.deepEqual([sent.code, sent.message], ["OK", ""]);
    const { cert, key } = await tenant.certificate();
    const shown = ["-certificate", file("tenant.pem", cert), "-key", file("tenant.key", key)];
    const [status] = await eventually(
      "a service that is ready",
      async () => {
        const { answers } = await call(`${lease}/ServiceStatus`, { leaseId }, ...shown);
        return JSON.stringify(answers).includes('"readyReplicas":1') && answers;
      },
      podStartsWithinMs,
    );
    const streamed = await call(
      `${lease}/StreamServiceStatus`,
      { leaseId, services: ["printer"] },
      ...by,
      "-most",
      "1",
    );
    assert.deepEqual(streamed, { code: "OK", message: "", answers: [status] });
    const logs = await eventually("lines", async () => {
      const { answers } = await call(`${lease}/ServiceLogs`, { leaseId }, "-authorization", tenant.token());
      return printed(answers).length > 3 && printed(answers);
    });
    const followed = await call(`${lease}/StreamServiceLogs`, { leaseId }, ...by, "-most", "5");
    assert.deepEqual(printed(followed.answers).slice(0, 3), logs.slice(0, 3));
    assert.deepEqual(logs.slice(0, 3), ["line 1", "line 2", "line 3"]);
    const quote = await call(`${lease}/AttestationQuote`, { leaseId }, ...by);
    assert.equal(quote.code, "Unimplemented");
    assert.match(quote.message, /nothing to attest/);
  });

  await t.test("public methods", async () => {
    for (const [method, most] of [
      ["GetStatus", "0"],
      ["StreamStatus", "1"],
    ] as const) {
      const { code, message, answers } = await call(`${provider}/${method}`, {}, "-most", most);
      assert.deepEqual([code, message, answers.length], ["OK", "", 1]);
      assert.match(JSON.stringify(answers), /"leases":\{"active":[1-9]/);
    }
    const health = await call("grpc.health.v1.Health/Check", { service: lease });
    assert.deepEqual(health.answers, [{ status: "SERVING" }]);
    assert.deepEqual((await call("grpc.health.v1.Health/Watch", {}, "-most", "1")).answers, health.answers);
    assert.equal((await call("grpc.health.v1.Health/Check", { service: "none" })).code, "NotFound");
    for (const version of ["v1", "v1alpha"]) {
      const request = { fileContainingSymbol: `${provider}.GetStatus` };
      const { answers } = await call(reflectionOf(version), request);
      assert.match(JSON.stringify(answers), /fileDescriptorProto/);
    }
  });

  await t.test("whether we would bid", async () => {
    for (const method of ["BidScreening", "ValidateGroupSpec"]) {
      const { code, message, answers } = await call(`${provider}/${method}`, bid, ...by);
      assert.deepEqual([code, message], ["OK", ""]);
      assert.equal(answers[0]?.["passed"], true, JSON.stringify(answers));
    }
    assert.equal((await call(`${provider}/BidScreening`, bid)).code, "Unauthenticated");
  });

  await t.test("a client of @connectrpc/connect calls all of them too", async () => {
    const reflected = await reflect(t, stage);
    const requests: Readonly<Record<string, object>> = {
      [`${lease}/SendManifest`]: { leaseId, manifest },
      ...Object.fromEntries(["BidScreening", "ValidateGroupSpec"].map((name) => [`${provider}/${name}`, bid])),
      ...Object.fromEntries(["v1", "v1alpha"].map((version) => [reflectionOf(version), { listServices: "*" }])),
    };
    for (const service of reflected.services) {
      const client = connectTo({ grpcPort: stage.grpcPort, authorization: tenant.bearer() }, reflected, service);
      for (const { name, methodKind } of client.methods) {
        const path = `${service}/${name}`;
        const request = { ...(service === lease && { leaseId }), ...requests[path] };
        const answer = async () => {
          if (methodKind === "unary") return client.unary(name, request);
          for await (const first of client.stream(name, request)) return first;
          return assert.fail(`${path} says nothing`);
        };
        if (name === "AttestationQuote") await assert.rejects(answer, { code: Code.Unimplemented });
        else assert.ok(await answer(), path);
      }
    }
  });

  await t.test("no listed method is left", async () => {
    const lines = await run(`127.0.0.1:${stage.grpcPort}`, "list");
    const listed = lines.filter((line) => !line.startsWith("{"));
    assert.ok(listed.length >= 14, lines.join("\n"));
    assert.deepEqual([...called].sort(), listed.sort());
  });
});

/** Of all answers, each without what a message may have cut off its end. */
function printed(answers: readonly Json[]): string[] {
  const entries = answers.flatMap(({ services }) => services as readonly { readonly logs: string }[]);
  return entries
    .map(({ logs }) => Buffer.from(logs, "base64").toString())
    .join("")
    .split("\n")
    .slice(0, -1);
}

/** Of what the lease itself is; an amount of money travels as a whole number of its smallest part. */
function groupJson() {
  const [{ name, units }] = sdl.groups as [GroupSpec];
  const resources = protoJson(sdl.manifest)[0]?.services.map(({ resources }) => resources) ?? [];
  return {
    name,
    requirements: {},
    resources: units.map(({ count, price }, at) => ({
      ...{ resource: resources[at], count },
      price: { denom: price.denom, amount: `${price.amount.atto}` },
    })),
  };
}
