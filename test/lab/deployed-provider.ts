/**
 * The whole way as an operator goes it: a chain, the inventory operator in its pod, the provider in its own pod, from our image
 * and deploy/, and a tenant whose order is bid on by what the node really has, won, run and ended.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AuditedRequest, auditedSince, isWrite, markAudit } from "../../lab/audit.ts";
import { providerImage, webImage } from "../../lab/images.ts";
import { kubectl } from "../../lab/kubectl.ts";
import { network, places } from "../../lab/places.ts";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { secretNameOf } from "../../src/gateway/certificate/certificate-store.ts";
import { installDefinitions } from "../../src/kube/definitions.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { leaderDurationMs } from "../../src/kube/leadership.ts";
import { parseAddress } from "../../src/market/address.ts";
import { formatLeaseId, type LeaseId } from "../../src/market/ids.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startFakeIpOperator } from "../support/fake-ip-operator.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { type Program, startProgram } from "../support/program.ts";
import { podStartsWithinMs, read } from "./cluster.ts";
import type { LeaseTask } from "./lease-child.ts";
import { leftOf, podsOf, runningPod } from "./lease-look.ts";
import { begin, bodyOf, inTime } from "./lease-stage.ts";
import { openKube } from "./open-kube.ts";
import { providerKubeconfig, userOf } from "./provider-account.ts";
import { ownPlaces, providerManifests } from "./provider-manifests.ts";

const namespace = ownPlaces.services;
const ingressDomain = "ingress.lab.test";
const pod = "akash-provider-0";
/** Its user name at the API server. */
const user = userOf(namespace);

const providerYaml = `
host: https://provider.example.com:8443
attributes: [{ key: region, value: lab }]
`;

function sdl(cpus: number): string {
  return `
version: "2.0"
services:
  web: { image: ${webImage}, expose: [{ port: 8080, as: 80, to: [{ global: true }] }] }
profiles:
  compute: { one: { resources: { cpu: { units: ${cpus} }, memory: { size: 64Mi }, storage: { size: 64Mi } } } }
  placement: { lab: { attributes: { region: lab }, pricing: { one: { denom: uact, amount: 10000 } } } }
deployment: { web: { lab: { profile: one, count: 1 } } }
`;
}

/** Its Lease is renewed every few seconds. */
const isChange = (request: AuditedRequest) => isWrite(request) && request.resource !== "leases.coordination.k8s.io";

/** Needs the inventory operator, and the namespace that it came with. */
export async function checkDeployedProvider(t: Owner): Promise<void> {
  const folder = temporaryFolder(t);
  const file = (name: string, text?: string) => {
    const path = join(folder, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
  };
  const listen = ["--host", network.node, "--rpc-port", "0", "--grpc-port", "0"];
  const chain = startProgram(t, ["chain", ...listen, "--keys", file("keys")]);
  await chain.says(/RPC +http:\S+/);
  const node = /RPC +(http:\S+)/.exec(chain.said)?.[1] ?? "";
  const give = async (key: string, ...args: string[]): Promise<Program> => {
    const program = startProgram(t, [...args, "--node", node, "--key-file", file(`keys/${key}.key`)]);
    assert.equal(await program.ended(), 0, program.said);
    return program;
  };
  await give("provider", "register", "--provider-config", file("provider.yaml", providerYaml));

  const secret = Buffer.from(readFileSync(file("keys/provider.key"), "utf8").trim(), "hex");
  const provider = createSigner(secret).address;
  t.after(async () => {
    await kubectl(["delete", "--ignore-not-found", "--namespace", namespace, "secret", secretNameOf(provider)]);
  });

  const before = await markAudit();
  await deploy(t, node, readFileSync(file("keys/provider.key"), "utf8"));
  await give("tenant", "tenant", "create", file("small.yaml", sdl(0.1)), "--dseq", "1");
  await give("tenant", "tenant", "create", file("large.yaml", sdl(300)), "--dseq", "2");
  const said = await eventually("a bid", async () => {
    const lines = await inPod("akash-provider", "orders");
    return lines.includes("bid") && lines;
  });
  const owner = /akash1[a-z0-9]+/.exec(said)?.[0] ?? "";
  assert.match(await inPod("akash-provider", "why", `${owner}/1`), /placementExists/);
  assert.match(await inPod("akash-provider", "why", `${owner}/2`), /✗ placementExists.*300 of cpu/);
  await eventually("the lease", () => give("tenant", "tenant", "lease", "--dseq", "1"));
  await eventually("what was won", async () => (await inPod("akash-provider", "orders")).includes("won"));
  await kubectl(["delete", "pod", "--namespace", namespace, pod]);
  await isReady();
  assert.match(await inPod("akash-provider", "orders"), /won/, "its journal is on a volume");
  const written = (await auditedSince(before, user)).filter(isChange);
  assert.deepEqual(
    written.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`),
    [`create secrets ${secretNameOf(provider)}`],
    "its certificate is made once, and there was nothing else to write",
  );

  const lease = { owner: parseAddress(owner), dseq: 1n, gseq: 1, oseq: 1, provider, bseq: 0 };
  await scale(0);
  await bringManifest(t, { rpcUrl: node, secret, dir: file("beside") }, lease, readSdl(sdl(0.1)));
  const web = await runningPod(lease, "web", webImage);
  const taken = await markAudit();
  await scale(1);
  await isReady();
  await eventually("the lease", async () => (await inPod("akash-provider", "leases")).includes("deployed"));
  assert.deepEqual((await auditedSince(taken, user)).filter(isChange), [], "it is taken over as it is");
  assert.deepEqual(await podsOf(lease, "web"), [web]);
  const { status } = await read<{ status: { podIP: string } }>(`/api/v1/namespaces/${namespace}/pods/${pod}`);
  const command = [
    "lease-status",
    "--dseq",
    "1",
    "--provider",
    provider,
    "--provider-url",
    `https://${status.podIP}:8443`,
  ];
  const result = await eventually("its gateway", () => give("tenant", ...command));
  assert.match(result.said, /"ready_replicas": ?1/, "its tenant sees over TLS, with a token, what a real kubelet runs");
  await give("tenant", "tenant", "close", "--dseq", "1");
  const admin = openKube(t, places.kubeconfig, { fieldManager: "observer" });
  await eventually("nothing to be left", async () => (await leftOf(admin, lease)).length === 0, podStartsWithinMs);
  const requests = await auditedSince(before, user);
  assert.deepEqual(
    requests.filter(({ code }) => code === 403),
    [],
  );
  const ofLease = requests.filter(({ resource }) => resource === "leases.coordination.k8s.io").map(({ verb }) => verb);
  assert.deepEqual([...new Set(ofLease)].sort(), ["create", "get", "update"], "its Lease");
}

/**
 * In a process beside it, with its key and its account: the pod, whose journal knows nothing of the manifest, then finds it in
 * the cluster, as after a loss of the journal.
 */
async function bringManifest(
  t: Owner,
  place: Pick<LeaseTask, "rpcUrl" | "secret" | "dir">,
  lease: LeaseId,
  sdl: Sdl,
): Promise<void> {
  const { ended } = begin(t, {
    ...place,
    kubeconfig: await providerKubeconfig(t, namespace),
    manifestNamespace: ownPlaces.lease,
    staticHostDomain: ingressDomain,
    ipOperatorPort: (await startFakeIpOperator(t, 0)).port,
    sends: { deployment: lease, body: bodyOf(sdl) },
    until: { lease: formatLeaseId(lease), isSo: "deployed" },
  });
  assert.equal(await inTime("the manifest", ended), "done");
}

async function scale(replicas: number): Promise<void> {
  const set = ["--namespace", namespace, "statefulset", "akash-provider"];
  await kubectl(["scale", ...set, `--replicas=${replicas}`]);
  if (replicas === 0) await kubectl(["wait", "--namespace", namespace, "--for=delete", `pod/${pod}`, "--timeout=60s"]);
}

/** Resolves when it is ready, as its probe says. */
async function deploy(t: Owner, node: string, key: string): Promise<void> {
  await installDefinitions(openKube(t, places.kubeconfig, { fieldManager: "akash-provider-install" }), realClock);
  const config = (name: string, data: object) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace },
    data,
  });
  const items = [
    config("akash-provider-settings", {
      AP_NODE: node,
      AP_BID_PRICE_STRATEGY: "table",
      AP_CLUSTER_PUBLIC_HOSTNAME: "provider.lab.test",
      AP_DEPLOYMENT_INGRESS_DOMAIN: ingressDomain,
      AP_DEPLOYMENT_INGRESS_STATIC_HOSTS: "true",
    }),
    config("akash-provider", { "provider.yaml": providerYaml }),
    { apiVersion: "v1", kind: "Secret", metadata: { name: "akash-provider-key", namespace }, stringData: { key } },
    // The namespace is the inventory operator's as well.
    ...providerManifests()
      .map(forLab)
      .filter(({ kind, metadata }) => kind !== "Namespace" || metadata.name !== namespace),
  ];
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  t.after(async () => {
    await kubectl(["delete", "--ignore-not-found", "--filename=-"], list);
    await kubectl(["delete", "--ignore-not-found", "--namespace", namespace, "persistentvolumeclaim", `data-${pod}`]);
  });
  await kubectl(["apply", "--server-side", "--filename=-"], list);
  await isReady();
}

function forLab(object: KubeObject): KubeObject {
  if (object.kind !== "StatefulSet") return object;
  const set = structuredClone(object) as KubeObject & {
    spec: { template: { spec: { containers: { image: string }[] } }; volumeClaimTemplates: { spec: object }[] };
  };
  for (const container of set.spec.template.spec.containers) container.image = providerImage;
  // The lab has no class that is meant where none is named.
  for (const claim of set.spec.volumeClaimTemplates) Object.assign(claim.spec, { storageClassName: "local-path" });
  return set;
}

async function isReady(): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets/akash-provider`;
  const look = async () => (await read<{ status: { readyReplicas?: number } }>(path)).status.readyReplicas === 1;
  // The first one finds no Lease and waits that long before it starts.
  await eventually("the provider to be ready", look, podStartsWithinMs + leaderDurationMs).catch(async (error) => {
    throw new Error(`${String(error)}; it said:\n${await kubectl(["logs", "--namespace", namespace, pod])}`);
  });
}

function inPod(...command: string[]): Promise<string> {
  return kubectl(["exec", "--namespace", namespace, pod, "--", ...command]);
}
