/** Recorded answers of the Go hostname operator, compared with ours in the same situations. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import { readLeaseId } from "../../src/kube/objects/lease-labels.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { startHostnames } from "../../src/operators/hostname/hostname-service.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { groupOf } from "../support/stages/declaration-stage.ts";
import {
  controllerKinds,
  type HostnameStage,
  openHostnameStage,
  plainOptions,
} from "../support/stages/hostname-stage.ts";

interface Vector {
  readonly name: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly answer: { readonly status: number; readonly headers: string; readonly body: string };
}

interface Recording {
  readonly headerSets: Readonly<Record<string, readonly (readonly [string, string])[]>>;
  readonly vectors: readonly Vector[];
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where ours is meant to be another answer. */
const intended: readonly { readonly why: string; readonly of: RegExp; readonly at: RegExp }[] = [
  {
    why: "another program with other parts",
    of: /^version$/,
    at: /^(body|headers\.(transfer-encoding|content-length))$/,
  },
  { why: "there are metrics", of: /^metrics$/, at: /./ },
  {
    why: "what is long is sent with its length too",
    of: /^managed/,
    at: /^headers\.(transfer-encoding|content-length)$/,
  },
  { why: "the first missing object is reported at once", of: /^ignore list, first error/, at: /./ },
  { why: "what is gone fails no more", of: /^ignore list after the ProviderHost was deleted$/, at: /./ },
  { why: "all is known as soon as the cluster has been read", of: /^managed hostnames after a restart$/, at: /./ },
  {
    why: "errors have codes of ours instead of names of Go's types",
    of: /^ignore list, a Prov/,
    at: /^body\.last-error-type$/,
  },
];

interface ManagedHost {
  readonly LeaseID: Readonly<Record<string, string | number>>;
  readonly ServiceName: string;
  readonly ExternalPort: number;
}

function leaseIn({ LeaseID: { owner, dseq, gseq, oseq, provider } }: ManagedHost): LeaseId {
  const lease = readLeaseId([owner, dseq, gseq, oseq, provider].map(String));
  assert.ok(lease);
  return lease;
}

/** Sets up the hosts of a recorded answer. */
function playWorld(stage: HostnameStage, { path }: Vector["request"], { body, status }: Vector["answer"]): void {
  if (path !== "/managed-hostnames" || status !== 200) return;
  const hosts = Object.entries(JSON.parse(body) as Record<string, ManagedHost>);
  for (const [host, recorded] of hosts) {
    const lease = leaseIn(recorded);
    const services = new Set(
      hosts
        .filter(([, other]) => other.LeaseID["dseq"] === recorded.LeaseID["dseq"])
        .map(([, { ServiceName }]) => ServiceName),
    );
    const [one] = groupOf({ hosts: [] }).services;
    assert.ok(one);
    stage.lease(lease, { name: "g", services: Array.from(services, (name) => ({ ...one, name })) });
    stage.declare(host, lease, recorded.ServiceName, recorded.ExternalPort);
  }
}

const orphan = "orphan.lab.test";
const missing: LeaseId | undefined = readLeaseId([
  "akash1yhsycm64jqyq0wwpgcmwuuse55u5ajuv0w6vny",
  ...["77", "1", "1"],
  "akash1pzhdmwnzzscqes69qjuk46e8tq2wtcd2h68uhz",
]);

async function serve(stage: HostnameStage, ingressMode: "ingress" | "gateway-api") {
  const kube = stage.cluster.connect("akash-operator-hostname");
  const deps = { kube, clock: stage.clock, random: createSeededRandom(1), log: silentLog };
  const metrics = { text: async () => "", contentType: "text/plain" };
  const listen = { host: "127.0.0.1", restPort: 0, grpcPort: 0, refreshMs: 0, version: "0" };
  const stopping = new AbortController();
  const started = Promise.withResolvers<number>();
  const service = {
    name: "hostname",
    async start(scope: Parameters<typeof startHostnames>[2]) {
      const { rest } = await startHostnames({ ...plainOptions, ...listen, ingressMode }, { ...deps, metrics }, scope);
      started.resolve(rest.port);
    },
  };
  const running = createLifecycle({ services: [service], clock: stage.clock, log: silentLog }).run(stopping.signal);
  const port = await started.promise;
  return {
    port,
    ask: (sent: Vector["request"]) => ask(port, sent),
    async stop() {
      stopping.abort();
      await Promise.all([running, kube.close()]);
    },
  };
}

function ask(port: number, { method, path }: Vector["request"]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, path, method, agent: false }, async (answer) => {
      const body = Buffer.concat(await answer.toArray()).toString();
      const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      resolve({ status: answer.statusCode ?? 0, headers: Object.fromEntries(headers), body });
    });
    outgoing.on("error", reject).end();
  });
}

/** Times and lengths are another's each time. */
function plain({ status, headers, body }: Answer): Answer {
  const { connection: _, "keep-alive": __, ...rest } = headers;
  const masked = Object.entries(rest).map(([name, value]) => [name, masks[name] ?? value] as const);
  return {
    status,
    headers: Object.fromEntries(masked.filter(([name, value]) => !(name === "content-length" && value === "0"))),
    body: body
      .replaceAll(/"LastUpdate":"[^"]*"/g, '"LastUpdate":"<time>"')
      .replaceAll(/"failed-at":"[^"]*"/g, '"failed-at":"<time>"'),
  };
}

const masks: Readonly<Record<string, string>> = {
  date: "<date>",
  "last-modified": "<date>",
  "content-length": "<length>",
};

function differencesOf(recorded: Answer, ours: Answer): string[] {
  const names = new Set([...Object.keys(recorded.headers), ...Object.keys(ours.headers)]);
  return [
    ...(recorded.status === ours.status ? [] : ["status"]),
    ...bodyDifference(recorded.body, ours.body),
    ...[...names].filter((name) => recorded.headers[name] !== ours.headers[name]).map((name) => `headers.${name}`),
  ];
}

function bodyDifference(recorded: string, ours: string): string[] {
  const typed = (body: string) => body.replaceAll(/"last-error-type":"[^"]*"/g, "");
  if (recorded === ours) return [];
  return [typed(recorded) === typed(ours) ? "body.last-error-type" : "body"];
}

const used = new Set<string>();

for (const [file, mode] of [
  ["hostname", "ingress"],
  ["hostname-gateway", "gateway-api"],
] as const) {
  test(`the recorded questions are answered as they were: ${file}`, async (t) => {
    const { headerSets, vectors } = readJsonRecording<Recording>(`operators/${file}.json`);
    const stage = openHostnameStage(t);
    stage.define(...controllerKinds.gateway);
    assert.ok(missing);
    let server = await serve(stage, mode);
    const unintended: string[] = [];
    for (const { name, request: sent, answer } of vectors) {
      if (name.includes("after a restart")) {
        await server.stop();
        server = await serve(stage, mode);
      }
      if (name.startsWith("ignore list, first error")) stage.declare(orphan, missing);
      if (name.startsWith("ignore list after the Prov")) stage.withdraw(orphan);
      playWorld(stage, sent, answer);
      await stage.settled(18_000);
      const ours = plain(await server.ask(sent));
      const headers = Object.fromEntries(
        (headerSets[answer.headers] ?? []).map(([key, value]) => [key.toLowerCase(), value]),
      );
      for (const at of differencesOf(plain({ ...answer, headers }), ours)) {
        const row = intended.find((each) => each.of.test(name) && each.at.test(at));
        if (row) used.add(row.why);
        else unintended.push(`${name}: ${at}: ${JSON.stringify([answer, ours])}`);
      }
    }
    await server.stop();
    assert.deepEqual(unintended, []);
    assert.ok(stage.routes(mode === "ingress" ? kinds.ingress : kinds.httpRoute).length > 10);
  });
}

test("the REST port of the hostname operator answers gRPC too, as the Go provider's setting names that port", async (t) => {
  const server = await serve(openHostnameStage(t), "ingress");
  t.after(server.stop);
  const client = openGrpcClient(t, `http://127.0.0.1:${server.port}`);
  assert.equal((await client.call("/grpc.health.v1.Health/Check")).status, grpcCodes.OK);
});

test("every intended difference occurred", () => {
  assert.deepEqual(
    intended.filter(({ why }) => !used.has(why)),
    [],
  );
});
