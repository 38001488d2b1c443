/** Moves of host names and endpoints, compared with the recorded answers of the Go gateway. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrationBytes } from "../../src/gateway/rest/migrate-routes.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace, staticHost } from "../../src/market/lease-namespace.ts";
import { eventually } from "../support/eventually.ts";
import { parseResponse, sendRequest } from "../support/gateway-client.ts";
import type { TenantCertificate } from "../support/gateway-tenant.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { type GatewayStage, startGatewayStage } from "../support/stages/gateway-stage.ts";
import {
  createComparison,
  createTranslation,
  type IntendedAnswer,
  readGatewayVectors,
  rejectedWith,
  requestOf,
} from "./recorded-gateway.ts";
import { onAddresses, oneService, threeServices } from "./recorded-tenants.ts";

const domain = "ingress.lab.test";

const unauthorized = rejectedWith("unauthorized access");

const intended: readonly IntendedAnswer[] = [
  {
    why: "the scopes of a token are enforced here too",
    of: /scope is not checked/,
    ...unauthorized,
  },
  {
    why: "the message names the host that another lease has",
    of: /^(before|after back): lease status of the destination$/,
    body: /"errors":\["withheld: a1\.rec\.test: held by lease \S+\/4100001\/1\/1\/\S+ of the same owner"\]\}$/,
  },
  {
    why: "the same the other way round",
    of: /^after good: lease status of the source$/,
    body: /"errors":\["withheld: a1\.rec\.test: held by lease \S+\/4100002\/1\/1\/\S+ of the same owner"\]\}$/,
  },
];

test("host names and endpoints move between leases of one owner", async (t) => {
  const stage = await startGatewayStage(t, {
    tenants: 2,
    leases: {
      hosts: { blockedHosts: [], ingressDomain: domain, staticHostDomain: domain },
      clusterPublicHostname: "localhost",
    },
  });
  const [one, two] = stage.tenants;
  assert.ok(one && two);
  const certificate = await one.certificate();
  const [source, destination] = [
    await one.deployed(4_100_001n, threeServices()),
    await one.deployed(4_100_002n, oneService("a1.rec.test", "b1.rec.test")),
  ];
  await two.deployed(4_100_005n, oneService("d5.rec.test"));

  await t.test("recorded requests → the recorded answers", async () => {
    const { volatile, vectors } = readGatewayVectors("migrate.json");
    const [theirDestination = "", theirSource = ""] = volatile["static_hosts"] as unknown as string[];
    const [theirTcp, theirUdp] = volatile["node_ports"] as unknown as number[];
    const [tcp, udp] = nodePorts(stage, source);
    const translate = createTranslation({
      [volatile["provider"] ?? ""]: stage.provider.address,
      [theirSource]: staticHost(source, "web", domain),
      [theirDestination]: staticHost(destination, "web", domain),
      [String(theirTcp)]: String(tcp),
      [String(theirUdp)]: String(udp),
    });
    const { compare, finish } = createComparison(intended, (recorded) => withUrisInOrder(translate(recorded)));
    for (const vector of vectors) {
      const credentials = credentialsOf(vector.request.auth ?? "", stage, certificate);
      const request = { ...requestOf(vector, translate), ...credentials };
      compare(vector, await sendRequest({ port: stage.port, ...credentials }, request));
    }
    finish();
  });

  await t.test("token → moves within its scopes and services", async () => {
    const body = JSON.stringify({
      hostnames_to_migrate: ["a1.rec.test"],
      destination_dseq: 4_100_001,
      destination_gseq: 1,
    });
    const statusWith = async (leases: object, path = "/hostname/migrate", sent = body) => {
      const answer = await sendRequest(stage, {
        method: "POST",
        path,
        body: sent,
        authorization: one.bearer({ leases }),
      });
      if (answer.status === 401) assert.equal(answer.body, unauthorized.body);
      return answer.status;
    };
    const scoped = (...scope: string[]) => ({ access: "scoped", scope });
    const { address: provider } = stage.provider;
    const granular = (deployment: object) => ({
      access: "granular",
      permissions: [
        { provider, access: "granular", deployments: [{ dseq: 4_100_001, services: ["web"], ...deployment }] },
      ],
    });
    const migrate = { scope: ["hostname-migrate"] };
    const rows: [string, object, number][] = [
      ["full", { access: "full" }, 200],
      ["the scope", scoped("logs", "hostname-migrate"), 200],
      ["the other route's scope", scoped("ip-migrate"), 401],
      ["the service", granular(migrate), 200],
      ["the service in the group", granular({ ...migrate, gseq: 1 }), 200],
      ["another scope", granular({ scope: ["send-manifest"] }), 401],
      ["another service", granular({ ...migrate, services: ["api"] }), 401],
      ["another deployment, though it has the name", granular({ ...migrate, dseq: 4_100_002 }), 401],
      ["another group", granular({ ...migrate, gseq: 2 }), 401],
    ];
    for (const [what, leases, status] of rows) assert.equal(await statusWith(leases), status, what);
    // An empty request reveals nothing to unauthorized clients.
    for (const path of ["/hostname/migrate", "/endpoint/migrate"]) {
      assert.deepEqual(
        [await statusWith(scoped("logs"), path, "{}"), await statusWith({ access: "full" }, path, "{}")],
        [401, 400],
      );
    }
  });

  await t.test("of two endpoints the requested one moves, as recorded", async () => {
    const both = onAddresses({ endpoint: "blue", port: 7000 }, { endpoint: "red", port: 7001 });
    for (const dseq of [1n, 2n]) await one.deployed(dseq, both);
    const steps = readJsonRecording<Record<string, { request?: string; answer: string } | undefined>>(
      "objects/ip-migrate/steps.json",
    );
    const dseqs = { "1794775013307": "2", "1794774898065": "1" };
    const translate = createTranslation({ ...dseqs, '"destination_dseq": 1,': '"destination_dseq": 99,' });
    const replay = async (name: string, by = one) => {
      const { request = "", answer = "" } = steps[name] ?? {};
      const recorded = parseResponse(withLineEnds(answer));
      assert.ok(recorded, name);
      const sent = {
        method: "POST",
        path: "/endpoint/migrate",
        body: translate(request),
        authorization: by.bearer(),
      };
      const { status, body, header } = await sendRequest(stage, sent);
      const type = "Content-Type";
      assert.deepEqual([status, body, header(type)], [recorded.status, recorded.body, recorded.header(type)], name);
    };
    const before = { "blue-tcp-7000": "1", "red-tcp-7001": "1" };
    assert.deepEqual(portsHeld(stage), before);
    for (const name of ["empty", "badJson", "noSuchDestination", "unknownEndpoint"]) await replay(name);
    await replay("destinationOfAnotherOwner", two);
    assert.deepEqual(portsHeld(stage), before);
    await replay("migrate");
    assert.deepEqual(portsHeld(stage), { ...before, "blue-tcp-7000": "2" });
    await replay("back");
    assert.deepEqual(portsHeld(stage), before);
  });

  await t.test("lists and bodies are bounded", async () => {
    const post = async (names: number, name: string) => {
      const requested = Array.from({ length: names }, () => name);
      const body = JSON.stringify({
        hostnames_to_migrate: requested,
        destination_dseq: 4_100_002,
        destination_gseq: 1,
      });
      const request = { method: "POST", path: "/hostname/migrate", body, authorization: one.bearer() };
      const { status, body: text } = await sendRequest(stage, request);
      return [status, text];
    };
    const tooMany = "more than 1000 names are to be moved at once\n";
    assert.deepEqual(await post(1_001, "b1.rec.test"), [400, tooMany]);
    assert.deepEqual(await post(1, "x".repeat(migrationBytes)).then(([status]) => status), 413);
    assert.deepEqual(await post(1_000, "b1.rec.test").then(([status]) => status), 200);
  });

  await t.test("API server unreachable → 503 with the reason", async () => {
    stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
    stage.cluster.faults.cutWatches();
    const body = JSON.stringify({
      hostnames_to_migrate: ["a1.rec.test"],
      destination_dseq: 4_100_002,
      destination_gseq: 1,
    });
    const request = { method: "POST", path: "/hostname/migrate", body, authorization: one.bearer() };
    const { status, body: text } = await eventually("known to be away", async () => {
      const answer = await sendRequest(stage, request);
      return answer.status === 503 && answer;
    });
    assert.equal(status, 503);
    assert.match(text, /^what our leases have in the cluster is not known right now: .+503.*\n$/s);
    stage.cluster.faults.clear();
    await eventually("moved when it is back", async () => (await sendRequest(stage, request)).status === 200);
  });
});

/** As it came: in the recording, lines of the head end with a line feed alone. */
function withLineEnds(recorded: string): Buffer {
  const [head = "", ...rest] = recorded.split("\n\n");
  return Buffer.from(`${head.replaceAll("\n", "\r\n")}\r\n\r\n${rest.join("\n\n")}`);
}

function portsHeld({ cluster }: GatewayStage): Record<string, string> {
  const objects = cluster.server.list(kinds.providerLeasedIp);
  return Object.fromEntries(
    objects.map(({ metadata: { name, labels } }) => {
      return [name.replace(/^akash1\w+-ip-/, ""), labels?.["akash.network/lease.id.dseq"] ?? ""];
    }),
  );
}

function credentialsOf(auth: string, { tenants }: GatewayStage, certificate: TenantCertificate) {
  if (auth === "none") return {};
  if (auth.startsWith("mTLS")) return { certificate };
  // Of the others there it is enough that they are others.
  const tenant = tenants[auth.includes("of tenant1") ? 0 : 1];
  const scope = /scoped \[(\S+)\]/.exec(auth)?.[1];
  return { authorization: tenant?.bearer(scope === undefined ? {} : { leases: { access: "scoped", scope: [scope] } }) };
}

function nodePorts({ cluster }: GatewayStage, lease: LeaseId): number[] {
  const services = cluster.server.list(kinds.service, { namespace: leaseNamespace(lease) });
  const ports = services.flatMap(({ spec }) => (spec as { ports: { nodePort?: number }[] }).ports);
  return ports.flatMap(({ nodePort }) => nodePort ?? []);
}

/** The name below the ingress domain is another one here, and stands elsewhere among the others. */
function withUrisInOrder(body: string): string {
  return body.replace(/(?<="uris":\[)[^\]]+/g, (uris) => uris.split(",").sort().join(","));
}
