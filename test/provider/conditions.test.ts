/** Each condition of the provider: how it is caused, what every view shows of it, and how it is cleared. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createBidMessage } from "../../src/bidengine/bidding.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import { reconcileEveryMs } from "../../src/cluster/leases/reconcile/reconciler.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { leaseLabels } from "../../src/kube/objects/lease-labels.ts";
import { providerHost } from "../../src/kube/objects/provider-host.ts";
import { parseCoin, parseDecCoin } from "../../src/market/coin.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { condition } from "../../src/runtime/condition.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { createTenant, type Tenant } from "../support/lease-tenant.ts";
import { cell, images, shop } from "../support/samples/lease-sdl.ts";
import { bidding } from "../support/stages/lease-stage.ts";
import { day } from "./certificate-files.ts";
import { playCondition, type Row, type World } from "./condition-stage.ts";

const always = Number.POSITIVE_INFINITY;
const clear = ({ stage }: World) => stage.cluster.faults.clear();
const apiAway = ({ stage: { cluster } }: World) => {
  cluster.faults.reject({ status: 503, times: always });
  cluster.faults.cutWatches();
};
const nodeAnswers = ({ node }: World) => {
  node.hangs = () => false;
};
const tenantOf = ({ stage }: World, dseq = 1n) => createTenant(stage, dseq);

async function leased(world: World, sdl = cell(), dseq = 1n) {
  const tenant = tenantOf(world, dseq);
  await tenant.post(sdl);
  await tenant.takeBid();
  await tenant.sendManifest(sdl);
  return tenant;
}

async function running(world: World, sdl = cell()) {
  const tenant = await leased(world, sdl);
  await tenant.runs(sdl);
  return tenant;
}

async function eachTenant({ stage, tenants }: World, work: (tenant: Tenant) => Promise<void>): Promise<void> {
  for (const [at, tenant] of tenants.entries())
    await work(createTenant({ ...stage, tenant, send: (...sent) => stage.sendAs(tenant, ...sent) }, BigInt(at + 1)));
}

const badHost = { host: "shop.example.com", lease: "a/1/1/1/p", health: "refused", why: "HostnameInUse" } as const;

/** What differs is reported once two comparisons show it. */
async function compared({ life, stage }: World): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await life.ask("reconcile", { dryRun: true });
    await sleep(stage.clock, 60_000);
  }
}

const rows: Readonly<Record<string, Row>> = {
  BusAway: { given: { redis: "redis://127.0.0.1:1" }, cause: () => undefined },
  SettingsFileInvalid: {
    cause: (world) => Object.assign(world, { settings: "provider.yaml: price_target_cpu is no number" }),
    cure: (world) => Object.assign(world, { settings: undefined }),
  },
  SettingsMissing: { given: { missingSettings: ["--cluster-public-hostname"] }, cause: () => undefined },
  BiddingPaused: {
    cause: ({ life }) => life.ask("pause", { reason: "maintenance" }),
    cure: ({ life }) => life.ask("resume"),
  },
  "BiddingPaused in a window": {
    given: { policies: "maintenance: [{ from: 2020-01-01T00:00:00Z }]\n" },
    cause: () => undefined,
    reason: "Maintenance",
  },
  AttributesDiffer: {
    cause: ({ stage }) => stage.sendAsProvider(entry(stage.provider.address, bidding.attributes.slice(1))),
    cure: ({ stage }) => stage.sendAsProvider(entry(stage.provider.address, bidding.attributes)),
  },
  Standby: {
    given: { exclusive: true },
    cause: ({ stage }) => stage.cluster.faults.reject({ status: 503, path: "/leases/", times: always }),
    cure: clear,
  },
  NotExclusive: {
    given: { exclusive: true },
    cause: async (world) => {
      for (const verb of ["get", "update"] as const) world.stage.cluster.faults.forbid(verb, kinds.lease);
      world.stage.cluster.server.delete(kinds.lease, leaseAt(world));
      await world.restart({ exclusive: true });
    },
    cure: clear,
  },
  ChainTrouble: {
    cause: ({ node }) => Object.assign(node, { hangs: () => true }),
    cure: nodeAnswers,
  },
  ChainOld: {
    cause: ({ node }) => Object.assign(node, { hangs: () => true }),
    cure: nodeAnswers,
  },
  TransactionsHeld: {
    cause: async (world) => {
      Object.assign(world.node, { hangs: (method: string) => method.startsWith("broadcast") });
      await tenantOf(world).post(cell());
    },
    cure: nodeAnswers,
  },
  KeyUsedElsewhere: {
    cause: async (world) => {
      await world.life.ask("pause", { reason: "another one bids" });
      await tenantOf(world).post(cell());
      await world.stage.sendAsProvider(bidOn(world));
    },
  },
  WalletLow: { given: { warnBalance: "2000000000000uakt" }, cause: () => undefined },
  EscrowUnknown: {
    cause: async (world) => {
      await running(world);
      Object.assign(world.node, { hangs: (method: string) => method === "abci_query" });
    },
    cure: nodeAnswers,
  },
  CertificateExpiring: {
    given: { gateway: true },
    cause: ({ files }) => files.write(10 * day),
    cure: ({ files }) => files.write(300 * day),
  },
  CertificateTrouble: {
    given: { gateway: true },
    cause: ({ files }) => files.spoil(),
    cure: ({ files }) => files.write(300 * day),
  },
  InventoryOld: { cause: ({ feed }) => feed.silence(), cure: ({ feed }) => feed.resume(), reason: "Silent" },
  NothingSellable: {
    cause: ({ feed }) => feed.cordon(),
    cure: ({ feed }) => feed.draw(64_000n),
    reason: "NoNodeOffered",
  },
  InventoryInvalid: {
    cause: ({ feed }) => feed.cordon([condition("NodeTwice", "node one is left out: it is there more than once")]),
    cure: ({ feed }) => feed.draw(64_000n),
    reason: "NodeTwice",
  },
  AddressesUnknown: {
    cause: (world) => Object.assign(world, { usage: new Error("it does not answer") }),
    cure: (world) => Object.assign(world, { usage: undefined }),
    reason: "Silent",
  },
  AddressesUnavailable: {
    cause: (world) => Object.assign(world, { usage: { total: 2n, inUse: 2n } }),
    cure: (world) => Object.assign(world, { usage: undefined }),
    reason: "PoolExhausted",
  },
  Unplaced: {
    cause: async (world) => {
      await tenantOf(world).post(cell());
      await tenantOf(world).bidComes();
      world.feed.cordon();
    },
    cure: ({ feed }) => feed.draw(64_000n),
  },
  Overbooked: {
    cause: async (world) => {
      await tenantOf(world).post(cell());
      await tenantOf(world).bidComes();
      world.feed.draw(1n);
    },
    cure: ({ feed }) => feed.draw(64_000n),
  },
  SpareVolumes: {
    cause: async (world) => {
      const { namespace } = await running(world, shop());
      const { server } = world.stage.cluster;
      const [claim] = server.list(kinds.persistentVolumeClaim, { namespace });
      assert.ok(claim);
      const { labels = {} } = claim.metadata;
      const copy = { ...claim, metadata: { namespace, name: "store-data-store-1", labels } };
      server.create(kinds.persistentVolumeClaim, copy, "akash-provider");
      server.updateStatus(kinds.persistentVolumeClaim, { ...copy, status: claim["status"] }, "akash-provider");
    },
    cure: ({ stage }) => {
      const namespace = tenantOf({ stage } as World).namespace;
      stage.cluster.server.delete(kinds.persistentVolumeClaim, { namespace, name: "store-data-store-1" });
    },
  },
  ClusterUnknown: { cause: apiAway, cure: clear },
  LeaseFrozen: {
    cause: async (world) => {
      const tenant = await running(world);
      const { send } = world.node;
      const isAboutLease = (text: string) => /Query\/Lease"/.test(text);
      world.node.send = async (request, bounds) =>
        isAboutLease(request.text) ? { status: 503, body: "" } : send(request, bounds);
      await tenant.close();
    },
    cure: ({ node, stage }) => Object.assign(node, { send: faultTransport(stage.node.transport()).send }),
  },
  LeaseHeld: {
    cause: async (world) => {
      const { namespace, close } = await running(world);
      const metadata = { namespace, name: "held", finalizers: ["example.com/slow"] };
      world.stage.cluster.server.create(kinds.configMap, { metadata }, "somebody");
      await close();
    },
    cure: (world) => {
      const metadata = { namespace: tenantOf(world).namespace, name: "held" };
      world.stage.cluster.server.update(kinds.configMap, { metadata }, "somebody");
    },
  },
  LeaseRefused: {
    cause: async (world) => {
      const tenant = tenantOf(world);
      await tenant.post(shop());
      await tenant.takeBid();
      world.stage.cluster.faults.reject({ status: 422, verb: "patch", kind: kinds.statefulSet });
      await tenant.sendManifest(shop());
    },
    cure: (world) => tenantOf(world).update(shop({ page: images.newPage })),
  },
  LeaseFailing: {
    cause: async (world) => {
      world.stage.cluster.faults.reject({ status: 403, path: "/deployments/", times: always });
      await leased(world);
    },
    cure: clear,
  },
  LeaseUnhealthy: {
    cause: (world) => leased(world, cell("example.com/crashing:1")),
    cure: (world) => tenantOf(world).update(cell()),
    reason: "CrashLoop",
  },
  ManyLeasesUnhealthy: {
    cause: (world) =>
      eachTenant(world, async (tenant) => {
        await tenant.post(cell("example.com/crashing:1"));
        await tenant.takeBid();
        await tenant.sendManifest(cell("example.com/crashing:1"));
      }),
    cure: (world) => eachTenant(world, (tenant) => tenant.close()),
  },
  LeaseWithheld: {
    cause: async (world) => {
      const { lease } = await running(world, shop());
      await world.life.stop();
      const [other] = world.tenants;
      assert.ok(other);
      const wanted = { host: "shop.example.com", service: "page", externalPort: 80 };
      const owned = { ...wanted, lease: { ...lease, owner: other.address } };
      const { object } = providerHost(owned, { manifestNamespace: "lease" });
      const { server } = world.stage.cluster;
      server.delete(kinds.providerHost, object.metadata);
      server.create(kinds.providerHost, object, "somebody");
      await world.restart();
    },
    cure: (world) => tenantOf(world).close(),
  },
  AddressPending: { cause: (world) => leased(world, shop()), cure: (world) => tenantOf(world).close() },
  ForeignObjects: {
    cause: async (world) => {
      const { namespace, lease } = await running(world);
      const metadata = { namespace, name: "theirs", labels: leaseLabels(lease) };
      world.stage.cluster.server.create(kinds.secret, { metadata }, "somebody");
      await world.restart();
    },
    cure: async (world) => {
      const { namespace } = tenantOf(world);
      world.stage.cluster.server.delete(kinds.secret, { namespace, name: "theirs" });
      await world.restart();
    },
  },
  Drift: {
    cause: async (world) => {
      const unknown = { ...tenantOf(world).lease, dseq: 99n };
      const metadata = { name: leaseNamespace(unknown), labels: leaseLabels(unknown) };
      world.stage.cluster.server.create(kinds.namespace, { metadata }, "somebody");
      await compared(world);
    },
    cure: async (world) => {
      const unknown = { ...tenantOf(world).lease, dseq: 99n };
      world.stage.cluster.server.delete(kinds.namespace, { name: leaseNamespace(unknown) });
      await compared(world);
    },
  },
  ReconcileSkipped: {
    cause: async (world) => {
      world.stage.cluster.faults.reject({ status: 503, verb: "list", times: always });
      await world.stage.meanwhile(reconcileEveryMs);
    },
    cure: async (world) => {
      clear(world);
      await world.stage.meanwhile(reconcileEveryMs);
    },
  },
  HostnameUnwell: {
    cause: ({ hosts }) => hosts.unhealthy.push(badHost),
    cure: ({ hosts }) => hosts.unhealthy.splice(0),
    reason: "Refused",
  },
  HostnamesUnserved: {
    cause: ({ hosts }) => hosts.unserved.push("shop.example.com"),
    cure: ({ hosts }) => hosts.unserved.splice(0),
    ...{ reason: "NoControllerStatus", status: "Unknown" },
  },
  HostnamesUnknown: {
    cause: async (world) => {
      world.hosts.missing = "there is no Service operator-hostname";
      await running(world, shop());
    },
    cure: ({ hosts }) => Object.assign(hosts, { missing: undefined }),
    reason: "NeverSeen",
  },
};

const typeOf = (name: string) => name.split(" ", 1)[0] ?? "";

for (const [name, row] of Object.entries(rows))
  test(`${name} is raised, shown in every view, and cleared`, (t) => playCondition(t, typeOf(name), row));

test("every condition of the provider has its row here, and its line in the operations page", () => {
  const source = join(import.meta.dirname, "../../src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !/^(operators|box)\//.test(name),
  );
  const raised = files.flatMap((name) =>
    Array.from(
      readFileSync(join(source, name), "utf8").matchAll(/(?:condition\(|ofLease\(|yield \[)\s*"([A-Z]\w+)"/g),
      ([, type = ""]) => type,
    ),
  );
  const types = new Set(Object.keys(rows).map(typeOf));
  assert.deepEqual([...new Set(raised)].sort(), [...types].sort());
  const page = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");
  for (const type of types) assert.ok(page.includes(`\`${type}\``), type);
});

function entry(owner: string, attributes: typeof bidding.attributes) {
  return packMessage("updateProvider", {
    ...{ owner, hostUri: "https://provider.example.com:8443", info: undefined },
    attributes: [...attributes],
  });
}

function leaseAt({ stage }: World) {
  return { namespace: "akash-services", name: `akash-provider-${stage.provider.address}` };
}

/** The bid of another provider with the same key. */
function bidOn({ stage: { tenant, provider } }: World) {
  const [spec] = cell().groups;
  assert.ok(spec);
  const id = { owner: tenant.address, dseq: 1n, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
  const terms = { price: parseDecCoin("10uact"), deposit: parseCoin("500000uakt"), reclamationWindowNs: undefined };
  return createBidMessage(id, { spec }, { ...terms, offer: spec.units });
}
