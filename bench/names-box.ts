/**
 * The cluster of the benchmark of host names in a process of its own: leases with their manifests, Services and declared
 * names, behind real HTTP. It reports to its parent where it is, how many routes there are, how long a change of a manifest took to
 * be in a route, and which requests it has had. `node bench/names-box.ts FOLDER HOSTNAMES`.
 */
import { createSimulatedCluster } from "../src/box/cluster/simulated-kube.ts";
import { readDefinitions } from "../src/kube/definitions.ts";
import { kinds } from "../src/kube/kinds.ts";
import { leaseLabels, serviceLabels } from "../src/kube/objects/lease-labels.ts";
import { manifestResource } from "../src/kube/objects/manifest-resource.ts";
import { providerHost } from "../src/kube/objects/provider-host.ts";
import type { LeaseId } from "../src/market/ids.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { eventually } from "../test/support/eventually.ts";
import { startKubeHttpServer } from "../test/support/kube-http-server.ts";
import { createOwner } from "../test/support/owner.ts";
import { hosts, leaseOf, manifestNamespace } from "../test/support/stages/declaration-stage.ts";
import { serveParent } from "./processes.ts";
import { size } from "./report.ts";

export type Report =
  | { readonly what: "ready"; readonly kubeconfig: string }
  | { readonly what: "routed"; readonly hostnames: number }
  | { readonly what: "changed"; readonly latenciesMs: readonly number[] }
  /** In so many seconds without anything to do, but for the word of who leads that it lives, and watches that go on where they were. */
  | { readonly what: "rested"; readonly requests: readonly string[] };

export type Command = { readonly what: "routed" | "change" | "rest" };

/** A lease of a tenant who shows several domains. */
const hostsEach = 5;
const changes = size(300, 20);
const pauseMs = 50;
const restMs = size(15_000, 1_000);

const [folder = "", hostnames = ""] = process.argv.slice(2);
const wanted = Number(hostnames);
const cluster = createSimulatedCluster({}, { clock: realClock, random: realRandom, log: silentLog });
const { server } = cluster;
for (const definition of readDefinitions()) server.create(kinds.customResourceDefinition, definition, "bench");
for (const name of [manifestNamespace, "akash-services"]) {
  server.create(kinds.namespace, { metadata: { name } }, "bench");
}
// Without a Lease the first copy waits before it leads.
const released = { metadata: { name: "operator-hostname", namespace: "akash-services" }, spec: {} };
server.create(kinds.lease, released, "bench");
const brought = { metadata: { name: "akash-ingress-class" }, spec: { controller: "k8s.io/ingress-nginx" } };
server.create(kinds.ingressClass, brought, "bench");
const leases = Array.from({ length: wanted / hostsEach }, (_, at) => leaseOf((at % 100) + 1, at + 1));
for (const lease of leases) makeLease(lease);
const face = await startKubeHttpServer(createOwner(), cluster);

const bodySize = "nginx.ingress.kubernetes.io/proxy-body-size";
/** What waits for a route to have this size, by the name of the host. */
const awaited = new Map<string, { readonly bytes: number; readonly seen: () => void }>();
cluster.server.subscribe(({ kind, object }) => {
  if (kind !== kinds.ingress) return;
  const waiting = awaited.get(object.metadata.name);
  if (waiting && object.metadata.annotations?.[bodySize] === `${waiting.bytes}`) waiting.seen();
});

const sendReport = serveParent<Command, Report>(async ({ what }) => {
  if (what === "routed") sendReport({ what, hostnames: server.list(kinds.ingress).length });
  if (what === "change") sendReport({ what: "changed", latenciesMs: await change() });
  if (what === "rest") sendReport({ what: "rested", requests: await rest() });
});
sendReport({ what: "ready", kubeconfig: face.writeKubeconfig(folder) });

function hostsOf(lease: LeaseId): string[] {
  return Array.from({ length: hostsEach }, (_, at) => `h${at}.d${lease.dseq}.example.com`);
}

function manifestOf(lease: LeaseId, maxBodySize: number) {
  const group = hosts(...hostsOf(lease));
  const services = group.services.map((service) => ({
    ...service,
    expose: service.expose.map((each) => ({ ...each, httpOptions: { ...each.httpOptions, maxBodySize } })),
  }));
  const note = { version: "00", receivedAtMs: 0 };
  return manifestResource({ lease, group: { ...group, services }, offer: [] }, note, { manifestNamespace }).object;
}

function makeLease(lease: LeaseId): void {
  const [namespace, labels] = [leaseNamespace(lease), serviceLabels(lease, "web")];
  server.create(kinds.namespace, { metadata: { name: namespace, labels: leaseLabels(lease) } }, "akash-provider");
  server.create(kinds.manifest, manifestOf(lease, 1_048_576), "akash-provider");
  const spec = { selector: labels, ports: [{ name: "80-tcp", port: 80, targetPort: 8080 }] };
  server.create(kinds.service, { metadata: { name: "web", namespace, labels }, spec }, "akash-provider");
  for (const host of hostsOf(lease)) {
    const declared = { lease, host, service: "web", externalPort: 80 };
    server.create(kinds.providerHost, providerHost(declared, { manifestNamespace }).object, "akash-provider");
  }
}

/** Tenants change how much may be sent to them, one after the other; each has all of its names changed by it. */
async function change(): Promise<number[]> {
  const latencies: Promise<number>[] = [];
  for (let at = 0; at < changes; at += 1) {
    const lease = leases[(at * 7) % leases.length];
    if (!lease) continue;
    const bytes = 2_000_000 + at;
    const beganMs = performance.now();
    for (const host of hostsOf(lease)) {
      latencies.push(
        new Promise((resolve) => awaited.set(host, { bytes, seen: () => resolve(performance.now() - beganMs) })),
      );
    }
    const live = server.get(kinds.manifest, { namespace: manifestNamespace, name: leaseNamespace(lease) });
    const { spec } = manifestOf(lease, bytes);
    if (live) server.update(kinds.manifest, { ...live, spec }, "akash-provider");
    await sleep(realClock, pauseMs);
  }
  let done = 0;
  for (const latency of latencies) void latency.then(() => (done += 1));
  await eventually("every change", () => done === latencies.length, 60_000);
  return Promise.all(latencies);
}

async function rest(): Promise<string[]> {
  face.requests.splice(0);
  await sleep(realClock, restMs);
  return face.requests.splice(0).filter((request) => !request.includes("/leases/") && !request.includes("watch=1"));
}
