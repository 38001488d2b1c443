/** What the network's IP operator was seen to make and to answer, and what ours makes and answers. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { sharingKey } from "../../src/kube/objects/leased-ip.ts";
import { type Address, parseAddress } from "../../src/market/address.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { startIpRest } from "../../src/operators/ip/serving.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { type Difference, differences } from "../support/kube/object-differences.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { listRecordings, readJsonRecording } from "../support/recordings.ts";
import {
  type IpStage,
  type IpStageOptions,
  manifestNamespace,
  openIpStage,
  type PortWanted,
} from "../support/stages/ip-stage.ts";

interface RecordedIp {
  readonly loadBalancers: Readonly<Record<string, { readonly annotations: object; readonly status: object }>>;
  readonly pools?: { readonly default: { readonly spec: { readonly addresses: readonly string[] } } };
}

interface Row {
  readonly why: string;
  readonly is: (difference: Difference, from: string) => boolean;
}

const objectRows: readonly Row[] = [
  {
    why: "further ports ask for the address that the first one has: MetalLB may share it, but does not have to",
    is: ({ at, recorded }) => at === "spec.loadBalancerIP" && recorded === undefined,
  },
  {
    why: "MetalLB since 0.14.9 reads its annotations under a new prefix, and warns of the old one",
    is: ({ at, recorded }) => at.startsWith("metadata.annotations.metallb.io/") && recorded === undefined,
  },
  {
    why: "a leased address needs no port of the nodes",
    is: ({ at, ours }) => at === "spec.allocateLoadBalancerNodePorts" && ours === false,
  },
];

/** Those that the server and MetalLB put in. */
const notWished = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort"];

function wished({ metadata, spec }: KubeObject) {
  const { annotations = {}, labels, name, namespace } = metadata;
  const ports = recordsOf(fieldsOf(spec)["ports"]).map(({ nodePort: _, ...port }) => port);
  const kept = Object.entries({ ...fieldsOf(spec), ports }).filter(([field]) => !notWished.includes(field));
  return { metadata: { name, namespace, labels, annotations }, spec: Object.fromEntries(kept) };
}

const objectFiles = () =>
  listRecordings("objects").filter((path) => /^objects\/ip-[^/]+\/objects[^/]*\.json$/.test(path));

test("every recorded ProviderLeasedIP becomes the Service that was recorded, with an address", async () => {
  const seen = new Set<Row>();
  let services = 0;
  for (const path of objectFiles()) {
    await using owner = createOwner();
    const { items } = readJsonRecording<{ items: KubeObject[] }>(path);
    const declared = items.filter(({ kind }) => kind === "ProviderLeasedIP");
    const recorded = items.filter(({ spec }) => fieldsOf(spec)["type"] === "LoadBalancer");
    const provider = declared[0]?.metadata.labels?.["akash.network/lease.id.provider"] as Address | undefined;
    const ip = readJsonRecording<RecordedIp>(path.replace("/objects", "/ip"));
    const pool = ip.pools?.default.spec.addresses[0];
    const options: IpStageOptions = { ...(pool && { pool }), ...(provider && { operator: { provider } }) };
    const stage = await openIpStage(owner, options);
    for (const { metadata, ...object } of declared) {
      for (const each of recorded) {
        const name = each.metadata.namespace ?? "";
        if (!stage.cluster.server.get(kinds.namespace, { name }))
          stage.cluster.server.create(kinds.namespace, { metadata: { name } }, "provider-services");
      }
      const { name, labels = {} } = metadata;
      const spec = fieldsOf(object["spec"]);
      stage.cluster.server.create(
        kinds.providerLeasedIp,
        { metadata: { name, labels, namespace: manifestNamespace }, spec },
        "provider-services",
      );
    }
    await stage.settled(10_000);
    const ours = stage.services();
    assert.deepEqual(
      ours.map(({ metadata }) => metadata.name).sort(),
      recorded.map(({ metadata }) => metadata.name).sort(),
      path,
    );
    for (const live of ours) {
      const like = recorded.find(({ metadata }) => metadata.name === live.metadata.name) as KubeObject;
      for (const difference of differences(wished(like), wished(live))) {
        const row = objectRows.find(({ is }) => is(difference, path));
        assert.ok(row, `${path} ${live.metadata.name}: ${JSON.stringify(difference)}`);
        seen.add(row);
      }
      const given = recordsOf(fieldsOf(fieldsOf(live["status"])["loadBalancer"])["ingress"]);
      const { status } = ip.loadBalancers[live.metadata.name] ?? {};
      const asRecorded = recordsOf(fieldsOf(fieldsOf(status)["loadBalancer"])["ingress"]);
      assert.deepEqual(
        given.map(({ ip: _, ...rest }) => rest),
        asRecorded.map(({ ip: _, ...rest }) => rest),
        path,
      );
      services += 1;
    }
  }
  assert.ok(services >= 20, `${services}`);
  assert.deepEqual(
    objectRows.filter((row) => !seen.has(row)).map(({ why }) => why),
    [],
  );
});

interface Vectors {
  readonly volatile: Readonly<Record<string, string>> & {
    readonly leases: Readonly<Record<string, { readonly dseq: number }>>;
  };
  readonly headerSets: Readonly<Record<string, readonly (readonly [string, string])[]>>;
  readonly vectors: readonly Vector[];
}

interface Vector {
  readonly name: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly answer: { readonly status: number; readonly headers: string; readonly body: unknown };
}

interface AnswerRow {
  readonly why: string;
  readonly of: RegExp;
  readonly at: RegExp;
}

const answerRows: readonly AnswerRow[] = [
  { why: "the length of every answer is known", of: /./, at: /^header (transfer-encoding|content-length)$/ },
  { why: "we are another program", of: /^version$/, at: /^body\./ },
  {
    why: "what is free is reported, of each pool too, and for which provider",
    of: /^usage/,
    at: /^body\.(Free|Pools|Provider|Shortage)/,
  },
  { why: "one port may be had with both protocols: each is shown, with its own", of: /^state/, at: /^body\./ },
  { why: "we have metrics", of: /^metrics$/, at: /^(status|header .*|body.*)$/ },
  { why: "a withdrawn port is not served", of: /^ip lease status after an update/, at: /^body\[/ },
  {
    why: "nothing is made that can have no address, and one without says nothing of the others",
    of: /Service without an address/,
    at: /^(status|header .*|body.*)$/,
  },
  {
    why: "another tenant's renamed endpoint takes no address of others",
    of: /of another tenant after the purge/,
    at: /^(status|header .*|body.*)$/,
  },
];

test("every recorded request is answered as recorded", async () => {
  await using owner = createOwner();
  const { volatile, headerSets, vectors } = readJsonRecording<Vectors>("operators/ip.json");
  const provider = parseAddress(volatile["provider"] ?? "");
  const stage = await openIpStage(owner, { operator: { provider } });
  const ask = await serve(owner, stage, provider);
  const lease = (name: string, tenant: string): LeaseId => ({
    ...{ owner: parseAddress(volatile[tenant] ?? ""), dseq: BigInt(volatile.leases[name]?.dseq ?? 0) },
    ...{ gseq: 1, oseq: 1, provider, bseq: 0 },
  });
  const put = (name: string, tenant: string, ...wanted: PortWanted[]) => {
    for (const each of wanted) stage.declare(lease(name, tenant), each);
  };
  const one = ["ip-one", "tenant1", { externalPort: 80, port: 8080 }] as const;
  /** What happened before each part of the recording, by the first request of that part. */
  const moments: Readonly<Record<string, () => Promise<void> | void>> = {
    health: () => put(...one),
    "ip lease status, source of a migration: no Service left": async () => {
      put("ip-same-other-port", "tenant1", { externalPort: 7000, port: 7000 });
      await stage.settled();
      put("ip-same", "tenant1", { endpoint: "red", externalPort: 7001, port: 7001 });
      await stage.settled();
      put("ip-same", "tenant1", { externalPort: 80, port: 8080 });
    },
    "ip lease status, two services, one address, three ports": async () => {
      put(...one);
      await stage.settled();
      const api = { service: "api", endpoint: "shared" };
      put("ip-shared", "tenant2", { ...api, externalPort: 53, port: 5353, protocol: "UDP" });
      put(
        "ip-shared",
        "tenant2",
        { ...api, externalPort: 9000, port: 9000 },
        { endpoint: "shared", externalPort: 8443 },
      );
      await stage.settled();
      stage.setPool("default", ["172.30.0.200-172.30.0.215"]);
      const dns = { service: "dns", endpoint: "dns", externalPort: 53, port: 53 };
      put("ip-dns", "tenant3", { ...dns, protocol: "TCP" }, { ...dns, protocol: "UDP" });
    },
    "ip lease status after an update changed a port: the old port is still there": async () => {
      put("ip-two", "tenant3", { endpoint: "my_ip", externalPort: 8443, port: 8080 });
      await stage.settled();
      put("ip-two", "tenant3", { endpoint: "second", externalPort: 9000, port: 9000 });
      await stage.settled();
      const keep = { endpoint: "keep", port: 9101 };
      put("ip-drop-port", "tenant5", { ...keep, externalPort: 9100, port: 9100 }, { ...keep, externalPort: 9101 });
      await stage.settled();
      put("ip-drop-port", "tenant5", { ...keep, externalPort: 9102 });
      stage.withdraw(lease("ip-drop-port", "tenant5"), { ...keep, externalPort: 9101 });
    },
    "state, right after a restart": () => stage.restart(),
    "ip lease status, Service without an address (pool exhausted)": async () => {
      stage.cluster.server.create(kinds.namespace, { metadata: { name: "filler" } }, "test");
      for (let each = 0; stage.operator.usage.free > 0n; each += 1) {
        const metadata = { name: `fill-${each}`, namespace: "filler" };
        const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
        stage.cluster.server.create(kinds.service, { metadata, spec }, "test");
        await stage.settled();
      }
      put("ip-pending", "tenant4", { endpoint: "full", externalPort: 80 });
    },
    "ip lease status of another tenant after the purge": async () => {
      put("ip-rename", "tenant5", { endpoint: "old", externalPort: 9100 });
      await stage.settled();
      stage.withdraw(lease("ip-rename", "tenant5"), { endpoint: "old", externalPort: 9100 });
      put("ip-rename", "tenant5", { endpoint: "new", externalPort: 9100 });
    },
    // Not yet able to read the cluster; a MetalLB that is away closes nothing of ours.
    "barrier closed: /health": async () => {
      stage.cluster.faults.forbid("list", kinds.providerLeasedIp);
      await stage.restart();
    },
  };
  const seen = new Set<AnswerRow>();
  for (const { name, request: sent, answer } of vectors) {
    await moments[name]?.();
    await stage.settled();
    const got = await ask(sent.path, sent.method);
    const expected = new Map(
      (headerSets[answer.headers] ?? []).map(([header, value]) => [header.toLowerCase(), value]),
    );
    const found = [
      ...(got.status === answer.status ? [] : [`status`]),
      ...headerDifferences(expected, got),
      ...(sent.method === "HEAD" ? [] : bodyDifferences(answer.body, got.body)),
    ];
    for (const at of found) {
      const row = answerRows.find((each) => each.of.test(name) && each.at.test(at));
      assert.ok(row, `${name}: ${at}: ${JSON.stringify(answer)} but ${JSON.stringify(got)}`);
      seen.add(row);
    }
  }
  assert.deepEqual(
    answerRows.filter((row) => !seen.has(row)).map(({ why }) => why),
    [],
  );
  const unused = Object.keys(moments).filter((name) => !vectors.some((each) => each.name === name));
  assert.deepEqual(unused, []);
});

test("the name of an endpoint with an underscore is hashed, as it was recorded", () => {
  const owner = parseAddress("akash1e3ujkx4xwel7dxs0uz7fzpn8zkxrtqdyf6xpct");
  assert.equal(sharingKey(owner, "my_ip"), `${owner}-ip-m9fo0a1emsme20vtunjnvqbp`);
});

interface Got {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

async function serve(owner: Owner, stage: IpStage, provider: Address) {
  let listening = stage.operator;
  const start = () =>
    startIpRest(stage.operator, provider, {
      ...{ host: "127.0.0.1", port: 0, version: "test", refreshMs: 5_000, clock: stage.clock, log: silentLog },
      metrics: { text: async () => "akash_provider_ip_leading 1\n", contentType: "text/plain; version=0.0.4" },
    });
  let rest = await start();
  owner.after(() => rest.close());
  return async (path: string, method: string): Promise<Got> => {
    if (listening !== stage.operator) {
      await rest.close();
      rest = await start();
      listening = stage.operator;
    }
    return new Promise((resolve, reject) => {
      const { port } = rest;
      request({ host: "127.0.0.1", port, path, method, agent: false }, async (answer) => {
        const parts = await answer.toArray();
        resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts).toString() });
      })
        .on("error", reject)
        .end();
    });
  };
}

const volatileHeaders = new Set(["date", "last-modified", "connection", "keep-alive"]);

function headerDifferences(expected: ReadonlyMap<string, string>, { headers, body }: Got): string[] {
  const names = new Set([...expected.keys(), ...Object.keys(headers)]);
  return [...names].flatMap((name) => {
    const [recorded, ours] = [expected.get(name), headers[name]];
    if (recorded !== undefined && ours !== undefined && volatileHeaders.has(name)) return [];
    if (["connection", "keep-alive"].includes(name)) return [];
    if (recorded === "<length>" && ours === `${Buffer.byteLength(body)}`) return [];
    return recorded === ours ? [] : [`header ${name}`];
  });
}

function bodyDifferences(recorded: unknown, ours: string): string[] {
  const parsed = (text: unknown) => {
    try {
      return typeof text === "string" && /^[[{]/.test(text) ? JSON.parse(text) : text;
    } catch {
      return text;
    }
  };
  const [a, b] = [parsed(recorded), parsed(ours)];
  if (typeof a === "string" || typeof b === "string") return a === b ? [] : ["body"];
  return jsonDifferences(a, b, "body").filter((at) => !at.endsWith("last-event-time"));
}

function jsonDifferences(a: unknown, b: unknown, at: string): string[] {
  if (Array.isArray(a) && Array.isArray(b)) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, index) =>
      jsonDifferences(a[index], b[index], `${at}[${index}]`),
    ).flat();
  }
  if (typeof a === "object" && typeof b === "object" && a && b) {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names].flatMap((name) => jsonDifferences(fieldsOf(a)[name], fieldsOf(b)[name], `${at}.${name}`));
  }
  return a === b ? [] : [at];
}
