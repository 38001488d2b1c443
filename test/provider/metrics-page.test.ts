/** docs/metrics.md and what is really served, by a provider on a chain and by the inventory operator on a cluster. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createPolicySource } from "../../src/bidengine/policies/policy-source.ts";
import { createDemoCluster, demoInventory } from "../../src/box/demo-cluster.ts";
import { metalLbDefinitions } from "../../src/box/metallb/definitions.ts";
import { showPod } from "../../src/box/metallb/metallb.ts";
import { createHttpTransports } from "../../src/chain/comet/http-transport.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { createMemoryFeed } from "../../src/cluster/capacity/inventory/memory-feed.ts";
import { openJournal } from "../../src/journal/open.ts";
import { readDefinitions } from "../../src/kube/definitions.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { createKubeService } from "../../src/kube/kube-service.ts";
import { addressOf } from "../../src/market/address.ts";
import { parseCoin, parseCoins } from "../../src/market/coin.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { createPublisher } from "../../src/operators/inventory/serving/publisher.ts";
import { createHostnameProcess } from "../../src/provider/hostname-process.ts";
import { createInventoryProcess } from "../../src/provider/inventory-process.ts";
import { createIpProcess } from "../../src/provider/ip-process.ts";
import { createProvider } from "../../src/provider/provider.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { untilAborted } from "../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../src/runtime/log.ts";
import type { Process } from "../../src/runtime/process.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import { providerKey, startMarketChain } from "../support/market-chain.ts";
import { sendSettings } from "../support/outbox-run.ts";
import { sampleInventory } from "../support/samples/inventory-samples.ts";
import { fixedPricing } from "../support/stages/bid-stage.ts";
import { plainOptions } from "../support/stages/hostname-stage.ts";

const deps = { clock: realClock, random: realRandom, log: silentLog };
const metricsListener = { host: "127.0.0.1", port: 0 };

/** Runs it until the test ends; gives what it serves once all its services run. */
async function served(t: TestContext, process: Process): Promise<() => Promise<string>> {
  const stopping = new AbortController();
  const running = process.run(stopping.signal);
  t.after(() => {
    stopping.abort();
    return running;
  });
  await Promise.race([
    eventually("all services run", () => process.status().services.every(({ state }) => state === "running")),
    running.then(() => Promise.reject(new Error("it ended"))),
  ]);
  const url = process.status().services.find(({ name }) => name === "metrics")?.detail ?? "";
  return async () => (await fetch(url)).text();
}

async function serveProvider(t: TestContext) {
  const chainStage = await startMarketChain(t);
  const cluster = createDemoCluster(deps);
  t.after(() => cluster.close());
  const signer = createSigner(providerKey.secret);
  const nodes = () => createHttpTransports([{ url: chainStage.node.rpcUrl }], realClock);
  const publisher = createPublisher({ ...deps, waitingFor: () => "nodes", ageMs: () => 0 });
  t.after(() => publisher.close());
  publisher.show(sampleInventory());
  const ipOperator = { usage: async () => ({ total: 4n, inUse: 1n }), portsOf: async () => [] };
  const dataDir = join(temporaryFolder(t), "data");
  return served(
    t,
    createProvider({
      ...deps,
      dataDir,
      metricsListener,
      chain: { nodes, signer, settings: sendSettings },
      kube: createKubeService(() => cluster.connect("akash-provider")),
      market: {
        cluster: { overcommit: noOvercommit },
        manifest: { timeoutMs: 0, requireHost: false },
        inventory: () => createMemoryFeed({ source: Promise.resolve(publisher), ...deps }),
        ipOperator: () => ipOperator,
        bidengine: {
          attributes: [],
          bidDeposit: parseCoin("500000uact"),
          minimumBalance: [],
          bidTimeoutMs: 300_000,
          reclamationWindowMs: 0,
          fee: undefined,
        },
        pricing: () => ({ ...fixedPricing(), run: untilAborted }),
        policies: (deps) => createPolicySource(undefined, deps),
      },
      balance: {
        ...{ minimumBalance: parseCoins("1000uakt"), warnBalance: [], threshold: [], fee: undefined },
        ...{ intervalMs: 600_000, periodMs: 0 },
      },
      gateway: {
        ...{ listen: { host: "127.0.0.1", port: 0 }, publicHost: undefined, version: "0.1.0" },
        certificate: { keptIn: { path: join(dataDir, "certificates.pem") } },
      },
    }),
  );
}

async function serveInventory(t: TestContext) {
  const cluster = createDemoCluster(deps);
  t.after(() => cluster.close());
  const face = await startKubeHttpServer(t, cluster);
  const { namespace, image, port } = demoInventory.discovery;
  const given = <T>(value: T) => ({ value, given: true });
  return served(
    t,
    createInventoryProcess({
      ...deps,
      ...demoInventory,
      kubeconfig: face.writeKubeconfig(temporaryFolder(t)),
      environment: {},
      metricsListener,
      restPort: given(0),
      grpcPort: given(0),
      podNamespace: namespace,
      discoveryNamespace: namespace,
      discoveryPrivileged: true,
      discoveryImage: given(image()),
      discoveryPort: port,
      version: "test",
      shutdownMs: 5_000,
    }),
  );
}

async function serveHostnames(t: TestContext) {
  const cluster = createDemoCluster(deps);
  t.after(() => cluster.close());
  const face = await startKubeHttpServer(t, cluster);
  const given = <T>(value: T) => ({ value, given: true });
  return served(
    t,
    createHostnameProcess({
      ...deps,
      ...plainOptions,
      kubeconfig: face.writeKubeconfig(temporaryFolder(t)),
      environment: {},
      metricsListener,
      host: "127.0.0.1",
      restPort: given(0),
      grpcPort: given(0),
      podNamespace: demoInventory.discovery.namespace,
      requiresProof: false,
      probeAt: undefined,
      refreshMs: 5_000,
      version: "test",
      shutdownMs: 5_000,
    }),
  );
}

async function serveIp(t: TestContext) {
  const cluster = createDemoCluster(deps);
  t.after(() => cluster.close());
  const { server } = cluster;
  const made = [...readDefinitions(), ...metalLbDefinitions()];
  for (const each of made) {
    if (!server.get(kinds.customResourceDefinition, each.metadata))
      server.create(kinds.customResourceDefinition, each, "test");
  }
  for (const name of ["metallb-system", "akash-services"])
    if (!server.get(kinds.namespace, { name })) server.create(kinds.namespace, { metadata: { name } }, "test");
  const metadata = { name: "default", namespace: "metallb-system" };
  server.create(kinds.ipAddressPool, { metadata, spec: { addresses: ["192.0.2.0/30"] } }, "test");
  await showPod(cluster.connect("metallb-controller"));
  const face = await startKubeHttpServer(t, cluster);
  const given = <T>(value: T) => ({ value, given: true });
  const read = await served(
    t,
    createIpProcess({
      ...deps,
      kubeconfig: face.writeKubeconfig(temporaryFolder(t)),
      environment: {},
      metricsListener,
      ...{ host: "127.0.0.1", restPort: given(0), grpcPort: given(0), podNamespace: "akash-services" },
      ...{ provider: addressOf(new Uint8Array(20)), manifestNamespace: "lease", pool: "default", ranges: [] },
      ...{ metalLb: undefined, retryDelayMs: 3_000, pruneIntervalMs: 600_000, refreshMs: 5_000 },
      ignoreList: { failureLimit: 3, entryLimit: 10, ageLimitMs: 1_000 },
      version: "test",
      shutdownMs: 5_000,
    }),
  );
  return eventually("the pool is counted", async () => {
    const text = await read();
    return /^akash_provider_ip_addresses 4$/m.test(text) && /^akash_provider_ip_leading 1$/m.test(text) && text;
  });
}

/** What is served once every node has told its hardware. */
async function readyInventory(t: TestContext): Promise<string> {
  const read = await serveInventory(t);
  return eventually("the inventory is complete", async () => {
    const text = await read();
    const isComplete =
      /model="h100"/.test(text) && /model="rtx4090"/.test(text) && /queue="labels",outcome="done"\} [1-9]/.test(text);
    return isComplete && text;
  });
}

interface Row {
  readonly labels: string;
  readonly kind: string;
  readonly by: string;
  readonly help: string;
}

/** Without labels where there is no series to see them on. */
type Served = Pick<Row, "kind" | "help"> & { readonly labels: string | undefined };

function metricsIn(text: string): Map<string, Served> {
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", kind = ""]) => [name, kind]));
  const labels = new Map(
    [...text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name = "", pairs = ""]) => [name, labelNames(pairs)]),
  );
  const helps = text.matchAll(/^# HELP ((?:akash_)?provider_\S+) (.*)$/gm);
  return new Map(
    [...helps].map(([, name = "", help = ""]) => [
      name,
      { labels: labels.get(name), kind: kinds.get(name) ?? "", help },
    ]),
  );
}

function labelNames(pairs: string): string {
  return [...pairs.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label]) => label).join(", ") || "–";
}

const pagePath = join(import.meta.dirname, "../../docs/metrics.md");

function rowsOfPage(): Record<string, Row> {
  const page = readFileSync(pagePath, "utf8");
  const rows = page.matchAll(/^\| `((?:akash_)?provider_\w+)` \| (.+) \| (\w+) \| (\w+) \| (.*) \|$/gm);
  return Object.fromEntries(
    [...rows].map(([, name = "", labels = "", kind = "", by = "", help = ""]) => [name, { labels, kind, by, help }]),
  );
}

test("every metric of the page is served as it says, and every one that is served is on the page", async (t) => {
  const provider = metricsIn(await (await serveProvider(t))());
  const operators = {
    inventory: metricsIn(await readyInventory(t)),
    hostname: metricsIn(await (await serveHostnames(t))()),
    ip: metricsIn(await serveIp(t)),
  };
  const page = rowsOfPage();
  const rows: Record<string, Row> = {};
  for (const [name, { kind, help, ...seen }] of [provider, ...Object.values(operators)].flatMap((each) => [...each])) {
    const [of] = Object.entries(operators).flatMap(([operator, metrics]) => (metrics.has(name) ? [operator] : []));
    const by = provider.has(name) ? (of === undefined ? "provider" : "both") : (of ?? "");
    const labels = seen.labels ?? page[name]?.labels ?? "";
    rows[name] = { labels, kind, by, help };
  }
  if (process.env["UPDATE_DOCS"]) {
    const updated = readFileSync(pagePath, "utf8").replace(/^\| `(\w+)` .*\|$/gm, (line, name: string) => {
      const { labels, kind, by, help } = rows[name] ?? {};
      return help === undefined ? line : `| \`${name}\` | ${labels} | ${kind} | ${by} | ${help} |`;
    });
    writeFileSync(pagePath, updated);
  } else assert.deepEqual(page, rows, "UPDATE_DOCS=1 writes what is served to rows that are there");
});

test("what operators are told to look at elsewhere in the docs is on the page", () => {
  const names = new Set(Object.keys(rowsOfPage()));
  const text = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");
  const told = [...text.matchAll(/akash_provider_\w+/g)].map(([name]) => name);
  assert.ok(told.length > 5);
  assert.deepEqual(
    told.filter((name) => !names.has(name)),
    [],
  );
});

test("an operator process measures its queues, its bus, its watches and each node", async (t) => {
  const text = await readyInventory(t);
  for (const line of [
    /^akash_provider_queue_outcomes_total\{queue="discovery",outcome="recheck"\} \d+$/m,
    /^akash_provider_queue_keys\{queue="labels",state="ready"\} \d+$/m,
    /^akash_provider_bus_connected 1$/m,
    /^akash_provider_bus_published_total\{topic="[\w.-]+"\} \d+$/m,
    /^akash_provider_kube_watch_objects\{resource="nodes"\} 4$/m,
    /^akash_provider_inventory_node_resources\{node="gpu-2",resource="gpu",amount="allocatable"\} 8$/m,
    /^akash_provider_inventory_gpus\{model="rtx4090",amount="allocatable"\} 4$/m,
    /^akash_provider_inventory_storage_bytes\{class="beta3",amount="allocatable"\} \d+$/m,
  ])
    assert.match(text, line);
  assert.doesNotMatch(text, /^akash_provider_metric_read_failures_total\{/m);
});

test("while the pages of a large journal are checked metrics are answered, and a stop ends the check", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const { journal } = await openJournal({ dir: dataDir, clock: realClock, log: silentLog });
  const line = "x".repeat(9 * 2 ** 20);
  await journal.durable("file much", ({ history }) => history.add({ kind: "test", subject: "s", line }));
  await journal.close();
  // As if the process had been killed.
  rmSync(join(dataDir, "journal.db-closed"));
  const [endless, node] = [join(dataDir, "endless"), process.execPath];
  writeFileSync(endless, "#!/bin/sh\nexec tail -f /dev/null\n", { mode: 0o755 });
  process.execPath = endless;
  t.after(() => {
    process.execPath = node;
  });
  const logged: string[] = [];
  const log: Log = { ...silentLog, info: (message) => void logged.push(message), with: () => log };
  const chain = { nodes: () => [], signer: createSigner(providerKey.secret), settings: sendSettings };
  const provider = createProvider({ ...deps, log, dataDir, metricsListener, chain });
  const stopping = new AbortController();
  const running = provider.run(stopping.signal);
  t.after(() => stopping.abort());
  await eventually("the check", () => logged.some((message) => message.startsWith("checking all pages")));
  const service = (name: string) => provider.status().services.find((each) => each.name === name);
  const page = await fetch(service("metrics")?.detail ?? "");
  assert.match(await page.text(), /^akash_provider_/m);
  assert.equal(service("journal")?.state, "init", "it is held");
  stopping.abort();
  await running;
});
