/**
 * Replays every recorded request about manifests and leases against a whole provider over TLS, with leases of the same shape:
 * the same status, body and headers, except for the differences listed here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createDeployment, createLease, updateDeployment } from "../../src/chain/tx/messages.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { parseCoin } from "../../src/market/coin.ts";
import { bidOn, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace, staticHost } from "../../src/market/lease-namespace.ts";
import type { ManifestGroup } from "../../src/market/manifest.ts";
import { readManifest } from "../../src/market/manifest-json.ts";
import { goJson } from "../../src/market/sorted-json.ts";
import { manifestBytes } from "../../src/runtime/limits.ts";
import { eventually } from "../support/eventually.ts";
import {
  connectGateway,
  type GatewayRequest,
  type GatewayResponse,
  requestOn,
  sendRequest,
} from "../support/gateway-client.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { type GatewayStage, type GatewayStageOptions, startGatewayStage } from "../support/stages/gateway-stage.ts";
import {
  createComparison,
  createRecordings,
  createTranslation,
  type IntendedAnswer,
  type RecordedVector,
  readGatewayVectors,
  requestOf,
  sent,
} from "./recorded-gateway.ts";
import { groupsOf, type KnownManifests, manifestText } from "./recorded-manifests.ts";

const domain = "ingress.lab.test";
const settings: GatewayStageOptions = {
  tenants: 3,
  leases: {
    clusterPublicHostname: "localhost",
    hosts: { blockedHosts: [], ingressDomain: domain, staticHostDomain: domain },
  },
};

/** Intended differences. */
function differences(known: KnownManifests): IntendedAnswer[] {
  const faulty = (of: RegExp, body?: string): IntendedAnswer => ({
    ...{ why: "a fault of the tenant's is 422, not 500", of, status: 422 },
    ...(body !== undefined && { body }),
  });
  const whole = (of: RegExp, name: string): IntendedAnswer => {
    return { why: "the manifest comes back as it was sent, endpoints and all", of, body: wholeText(known, name) };
  };
  const mismatch = (what: string) =>
    `manifest cross-validation error: group "lab": service "web": ${what} resources mismatch for ID 1\n`;
  return [
    faulty(/^PUT, resources (id 0|\.)/),
    faulty(/^PUT, resources\.(cpu|memory|gpu|storage|endpoints) null$/),
    faulty(/^PUT, hash right, (one group more|group renamed)$/),
    faulty(/^PUT, host held by another owner$/),
    {
      ...{ why: "more volumes than on chain are rejected without a crash", status: 422, headers: sent.text },
      ...{ of: /one storage volume more than on chain$/, body: mismatch("Storage") },
    },
    {
      ...{ why: "a missing amount is rejected without a crash", status: 422, headers: sent.text },
      ...{ of: /memory value missing$/, body: mismatch("Memory") },
    },
    whole(/^GET manifest, running lease$/, "d1"),
    whole(/^GET manifest, running lease, one service$/, "d2"),
    whole(/^GET manifest, persistent storage$/, "d7"),
    {
      ...{ why: "a manifest that was taken is deployed", of: /^lease status, manifest accepted after such a restart/ },
      ...{ status: 200, headers: sent.json },
      body: /^\{"services":\{"web":\{"name":"web","available":1,/,
    },
    {
      ...{ why: "the reason is in our words", of: /^API server unreachable/ },
      body: /^what our leases have in the cluster is not known right now: [a-z.]+ are not followed: .+\n$/,
    },
  ];
}

/** `errors`, a field that the Go gateway does not have; the rest of the response is the same. */
const expectedErrors: readonly (readonly [of: RegExp, errors: RegExp])[] = [
  [/^lease status, .* one of two hosts withheld$/, /^withheld: a1\.rec\.test: held by lease \S+ of the same owner$/],
  [/^lease status after an (on-chain )?update, /, /^withheld: a1\.rec\.test: held by lease \S+ of the same owner$/],
  [/^lease status, service that ends at once$/, /^web: CrashLoop: ./],
  [/^image cannot be pulled: lease status$/, /^bad: ImageError: ./],
];

/** Streams have their own tests. */
const notHere = /without upgrade$/;

test("recorded requests about manifests and leases → the recorded answers, or listed differences", async (t) => {
  let pace: { readonly startMs?: number } = {};
  const stage = await startGatewayStage(t, {
    ...settings,
    behaviour: (image, { container }) => {
      if (image.includes("missing")) return { missing: true };
      return JSON.stringify(container).includes("exit 3") ? { exitAfterMs: 1, exitCode: 3 } : pace;
    },
  });
  const replay = await createReplay(stage);
  const { play, tenants, known } = replay;
  const [one, two] = tenants;
  const namespaceOf = (owner: GatewayTenant, dseq: bigint) => leaseNamespace(replay.lease(owner, dseq));

  await play(
    "before a manifest",
    /no manifest sent$/,
    /^PUT, (?!good|host held|hash right|(just )?closed)/,
    /^PUT, hash right/,
  );
  await play("first manifests", /^PUT, good$/);
  await replay.deployed(one, 4_100_001n);
  await play("more of them", /^PUT, good, (?!provider restarted|tenant2|persistent|one image)/, /^PUT, host held/);
  await replay.deployed(one, 4_100_002n);
  await play(
    "what runs",
    /^(lease|service) status, (?!just closed|closed|manifest accepted|after)/,
    /^lease status with query/,
    /^(status|service\/web\/status), /,
  );
  await play("manifests of what runs", /^GET manifest, (?!just closed|closed|persistent)/);

  await one.send(
    updateDeployment({ owner: one.address, dseq: 4_100_002n }, replay.hashOf(known["d2 with args changed"] ?? "")),
  );
  await play("an update on chain", /^lease status after an on-chain update/, /PUT of the old manifest$/);
  // So that one sees the new pod before it is ready.
  pace = { startMs: 600_000 };
  const namespace = namespaceOf(one, 4_100_002n);
  const [old] = stage.cluster.server.list(kinds.pod, { namespace });
  await play("its manifest", /PUT of the new manifest$/, /PUT of the old manifest again$/);
  await eventually("a new pod", () => stage.cluster.server.list(kinds.pod, { namespace }).length === 2);
  // A real cluster takes it away first, as its strategy says; the simulated one waits for the new one.
  stage.cluster.server.delete(kinds.pod, { namespace, name: old?.metadata.name ?? "" }, {});
  await play("what runs of it", /^lease status after an update/);
  await play("storage that lasts", /^PUT, good, persistent/);
  await play("its pod starts", /^persistent storage, .* (2|pod starting)$/);
  pace = {};
  stage.cluster.server.delete(kinds.pod, { namespace: namespaceOf(one, 4_100_007n), name: "db-0" }, {});
  await play("its pod is ready", /^persistent storage, .* ready$/, /^GET manifest, persistent/);
  await play("one of two images", /^PUT, good, one image/, /^image cannot be pulled/);

  await stage.restart();
  await play("after a restart", /provider restarted between/, /^lease status, manifest accepted after such a restart/);

  await play("to be closed", /^PUT, good, tenant2$/);
  await replay.deployed(two, 4_100_103n);
  const keeper: KubeObject = {
    metadata: { namespace: namespaceOf(two, 4_100_103n), name: "k", finalizers: ["test/k"] },
  };
  stage.cluster.server.create(kinds.configMap, keeper, "test");
  await two.close(4_100_103n);
  await play("just closed", /just closed$/);
  const kept = stage.cluster.server.get(kinds.configMap, keeper.metadata);
  assert.ok(kept);
  stage.cluster.server.update(kinds.configMap, { ...kept, metadata: { ...kept.metadata, finalizers: [] } }, "test");
  await play("long closed", /closed, namespace gone$/);

  const authorization = one.bearer();
  await sendRequest(stage, { method: "DELETE", path: "/deployment/4100007/manifest", authorization });
  // As for a moment after a PUT: there is a manifest, and nothing of it runs.
  await play("nothing runs", /^persistent storage, .* 1$/);

  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await play("no API server", /^API server unreachable/);
  stage.cluster.faults.clear();
  replay.finish();
});

/** Posts every deployment of the recording and takes bids on those that had a lease; the numbers are the recorder's. */
async function createReplay(stage: GatewayStage) {
  const files = ["manifest.json", "lease.json"].map(readGatewayVectors);
  const vectors = files.flatMap((file) => file.vectors).filter(({ name }) => !notHere.test(name));
  const recordings = createRecordings(vectors);
  const [one, two, three] = stage.tenants as [GatewayTenant, GatewayTenant, GatewayTenant];
  const volatile = Object.assign({}, ...files.map((file) => file.volatile)) as Record<string, string>;
  const known = knownManifests(vectors, volatile);
  const lease = ({ address }: GatewayTenant, dseq: bigint): LeaseId =>
    bidOn({ owner: address, dseq, gseq: 1, oseq: 1 }, stage.provider.address);
  // The third one's key is known to the chain from then on.
  const [certificate] = await Promise.all([one.certificate(), three.certificate()]);

  await post(one, { 4100001: "d1", 4100002: "d2", 4100007: "d7", 4100008: "d8" });
  await post(two, { 4100003: "d3", 4100004: "d4", 4100005: "d5", 4100103: "d3" });
  await postWithoutLease();
  const addresses = { tenant1: one.address, tenant2: two.address, tenant3: three.address };
  const pairs = Object.entries(addresses).map(([name, ours]) => [volatile[name] ?? "", ours]);
  const hosts = [
    lease(one, 4_100_001n),
    lease(one, 4_100_002n),
    lease(two, 4_100_005n),
    lease(one, 4_100_007n),
    lease(one, 4_100_008n),
  ].map((each, index) => [
    (volatile["static_hosts"] as unknown as string[])[index] ?? "",
    staticHost(each, index === 3 ? "db" : "web", domain),
  ]);
  const translate = createTranslation({ ...Object.fromEntries([...pairs, ...hosts]), beta2: "beta3" });
  const comparison = createComparison(differences(known), translate);

  let open: { readonly port: number; readonly socket: TLSSocket } | undefined;

  function hashOf(text: string): Uint8Array {
    return Buffer.from(readManifest(text, manifestBytes).version(), "hex");
  }

  function deploymentOf(owner: GatewayTenant, dseq: bigint, groups: string, hashed: string) {
    const { manifest } = readManifest(groups, manifestBytes);
    const id = { owner: owner.address, dseq };
    return createDeployment({
      id,
      groups: groupsOf(manifest),
      hash: hashOf(hashed),
      deposit: parseCoin("5000000uact"),
    });
  }

  async function post(owner: GatewayTenant, manifests: Readonly<Record<string, string>>): Promise<void> {
    const all = Object.entries(manifests).map(([dseq, name]) => [BigInt(dseq), known[name] ?? ""] as const);
    await owner.send(...all.map(([dseq, text]) => deploymentOf(owner, dseq, text, text)));
    const chain = await stage.services.chain;
    for (const [dseq] of all) await eventually(`a bid on ${dseq}`, () => chain.mirror.bid(lease(owner, dseq)));
    await owner.send(...all.map(([dseq]) => createLease(lease(owner, dseq))));
    for (const [dseq] of all) await eventually(`a lease of ${dseq}`, () => chain.mirror.lease(lease(owner, dseq)));
  }

  async function postWithoutLease(): Promise<void> {
    const posted = vectors.flatMap(({ name, request }) => {
      const dseq = BigInt(/\/deployment\/(41000\d\d)\//.exec(request.path ?? "")?.[1] ?? 0);
      const { body = "" } = request;
      if (!/^PUT, (hash right|deployment without lease)/.test(name)) return [];
      const groups = known[body.startsWith("<manifest d1") ? "d1" : "d6"] ?? "";
      return [deploymentOf(two, dseq, groups, manifestText(body, known))];
    });
    await two.send(...posted);
  }

  /** One for all, as tools keep theirs; another where it has ended. */
  async function connection(): Promise<TLSSocket> {
    if (!open || open.port !== stage.port || open.socket.destroyed) {
      open?.socket.destroy();
      open = { port: stage.port, socket: await connectGateway({ port: stage.port }) };
    }
    return open.socket;
  }

  async function answerTo(vector: RecordedVector) {
    const { auth = "none", body, raw } = vector.request;
    const owner = stage.tenants[Number(/tenant(\d)/.exec(auth)?.[1] ?? 1) - 1];
    const authorization = auth.startsWith("JWT") ? owner?.bearer() : undefined;
    const send = async (request: GatewayRequest) =>
      auth.startsWith("mTLS")
        ? sendRequest({ port: stage.port, certificate }, request)
        : requestOn(await connection(), request);
    if (raw !== undefined) {
      const headers = [["Transfer-Encoding", "chunked"]] as const;
      const text = known.d1;
      const chunks = `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
      return send({
        method: "PUT",
        path: "/deployment/4100001/manifest",
        headers,
        authorization,
        body: chunks,
      });
    }
    const request = requestOf(vector, translate);
    const sent = body === undefined ? {} : { body: translate(manifestText(body, known)) };
    return send({ ...request, authorization, ...sent });
  }

  return {
    ...{ known, lease, hashOf },
    tenants: [one, two, three] as const,
    finish() {
      recordings.finish();
      open?.socket.destroy();
      comparison.finish();
    },
    /** What is yet to come is waited for. */
    async play(scene: string, ...names: readonly RegExp[]): Promise<void> {
      for (const vector of recordings.take(...names)) {
        const hold = async () => {
          comparison.compare(translated(vector), withoutErrors(vector.name, await answerTo(vector)));
          return true;
        };
        if (vector.request.method === "GET") await eventually(`${scene}: ${vector.name}`, hold);
        else await hold();
      }
    },
    async deployed(owner: GatewayTenant, dseq: bigint): Promise<void> {
      const namespace = leaseNamespace(lease(owner, dseq));
      await eventually(`pods of ${dseq}`, () => stage.cluster.server.list(kinds.pod, { namespace }).length > 0);
    },
  };

  /** Ports of the nodes are the cluster's choice; names that we give stand elsewhere in the order than theirs. */
  function translated(vector: RecordedVector): RecordedVector {
    const { answer } = vector;
    const [tcp, udp, db] = volatile["node_ports"] as unknown as number[];
    const portOf = (owner: GatewayTenant, dseq: bigint, name: string, index: number) => {
      const service = stage.cluster.server.get(kinds.service, { namespace: leaseNamespace(lease(owner, dseq)), name });
      const { ports = [] } = (service?.["spec"] ?? {}) as { ports?: { nodePort?: number }[] };
      return `"externalPort":${ports[index]?.nodePort}`;
    };
    const inOrder = (_: string, hosts: string) => `"uris":[${hosts.split(",").sort().join(",")}]`;
    const body = answer.body
      ?.replace(/"uris":\[(.*?)\]/g, (found, hosts) => inOrder(found, translate(hosts)))
      .replace(`"externalPort":${tcp}`, portOf(one, 4_100_001n, "api-np", 0))
      .replace(`"externalPort":${udp}`, portOf(one, 4_100_001n, "api-np", 1))
      .replace(`"externalPort":${db}`, portOf(one, 4_100_007n, "db-np", 0));
    return { ...vector, answer: { ...answer, ...(body !== undefined && { body }) } };
  }
}

function withoutErrors(name: string, answer: GatewayResponse): GatewayResponse {
  const wanted = expectedErrors.find(([of]) => of.test(name))?.[1];
  if (!wanted) return answer;
  const { errors = [], ...rest } = JSON.parse(answer.body) as { readonly errors?: readonly string[] };
  assert.match(errors.join("\n"), wanted, `errors of ${name}`);
  return { ...answer, body: goJson(rest) };
}

/** The manifests that were sent, by the recorder's names for them. */
function knownManifests(
  vectors: readonly RecordedVector[],
  volatile: Readonly<Record<string, string>>,
): KnownManifests {
  const sent = (name: string) => vectors.find((each) => each.name === name)?.request.body ?? "";
  const [d1 = "", d6 = ""] = [volatile["manifest_d1"], volatile["manifest_d6"]];
  const d2 = sent("PUT, good, second lease");
  return {
    ...{ d1, d2, d6 },
    d3: sent("PUT, good, tenant2"),
    d4: sent("PUT, host held by another owner"),
    d5: sent("PUT, good, a service that ends at once"),
    // The storage class that is sold here.
    d7: sent("PUT, good, persistent storage").replaceAll("beta2", "beta3"),
    d8: withMissingImage(d6),
    "d2 with args changed": d2.replace("echo ready", "echo again"),
    "services web and bad; the image of bad cannot be pulled": withMissingImage(d6),
  };
}

function withMissingImage(manifest: string): string {
  const [group] = JSON.parse(manifest) as [ManifestGroup];
  const [web] = group.services;
  assert.ok(web);
  const inside = web.expose.map((each) => ({ ...each, hosts: null }));
  const bad = {
    ...{ ...web, name: "bad", image: "lab.invalid/missing:1" },
    resources: { ...web.resources, id: 1, endpoints: [] },
    expose: inside.map((each) => ({ ...each, externalPort: 0, global: false, service: "web" })),
  };
  const seen = { ...web, resources: { ...web.resources, id: 2 }, expose: inside };
  return JSON.stringify([{ ...group, services: [bad, seen] }]);
}

function wholeText(known: KnownManifests, name: string): string {
  return goJson(JSON.parse(known[name] ?? ""));
}
