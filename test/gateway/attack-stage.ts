/**
 * `akash-provider run` as a process of its own, with a chain of the box, a simulated cluster and two tenants who have a lease
 * each: unauthenticated clients and tenants send to the gateway of the whole program.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import { createSimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { createQueries } from "../../src/chain/comet/queries/queries.ts";
import { createSigner, type Signer } from "../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import type { PackedMessage } from "../../src/chain/tx/messages.ts";
import { sendMessages } from "../../src/chain/tx/send.ts";
import { startInventoryGrpc } from "../../src/operators/inventory/serving/listeners.ts";
import { createPublisher } from "../../src/operators/inventory/serving/publisher.ts";
import { realClock as clock } from "../../src/runtime/clock.ts";
import { providerLeaseV1ServiceStatusRequest } from "../../src/runtime/grpc/akash-proto.ts";
import { silentLog as log } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type GatewayResponse, sendRequest } from "../support/gateway-client.ts";
import { createGatewayTenant, type GatewayTenant } from "../support/gateway-tenant.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { bareEnvironment, hear } from "../support/program.ts";
import { sampleInventory, sampleNode, sampleStorage } from "../support/samples/inventory-samples.ts";
import { cell } from "../support/samples/lease-sdl.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { fees, initialCoins, machine, prepareCluster, registration } from "../support/stages/lease-stage.ts";

export interface AttackStage {
  /** Of the gateway, on 127.0.0.1. */
  readonly restPort: number;
  readonly grpcPort: number;
  readonly tenant: GatewayTenant;
  /** Has a lease too, and does with it what it should not. */
  readonly attacker: GatewayTenant;
  /** Of the first tenant's lease, over REST and a connection of its own. */
  leaseStatus(): Promise<GatewayResponse>;
  /** The same over gRPC: its status. */
  grpcLeaseStatus(): Promise<number>;
  /** The most memory that the provider's process took so far; undefined once it has ended. */
  peakMb(): number | undefined;
}

const program = join(import.meta.dirname, "../..", "bin", "akash-provider");
export const leaseDseq = 1n;
const quick = { pullMs: 10, startMs: 10, stopMs: 10, logs: (line: number) => (line < 3 ? `line ${line}` : undefined) };

export async function startAttackStage(owner: Owner): Promise<AttackStage> {
  const random = createSeededRandom(1);
  const keys = Array.from({ length: 3 }, () => random.bytes(32));
  const [provider, ...people] = keys.map(createSigner) as [Signer, Signer, Signer];
  const accounts = [provider, ...people].map(({ address }) => ({ address, coins: initialCoins }));
  const node = createEmbeddedNode({ chainId: "attack-1", accounts, blockMs: 200, clock, log });
  owner.after(() => node.stop());
  await node.start();
  const pool = createPool({ nodes: [node.transport("people's node")], clock, random, log });
  owner.after(() => pool.close());
  await pool.open();
  const chain = createCometBroadcaster(pool);
  const send = async (signer: Signer, ...messages: readonly PackedMessage[]) => {
    await sendMessages({ chainId: node.chainId, chain, settings: fees, clock, random, signer }, messages);
  };
  await send(provider, registration(provider.address));
  const folder = temporaryFolder(owner);
  const keyFile = join(folder, "provider.key");
  writeFileSync(keyFile, `${Buffer.from(keys[0] ?? []).toString("hex")}\n`, { mode: 0o600 });
  const cluster = await startCluster(owner, folder);
  const run = [
    ...["run", "--data-dir", join(folder, "data"), "--home", folder, "--key-file", keyFile, "--node", node.rpcUrl],
    ...["--gateway-listen-address", "127.0.0.1:0", "--gateway-grpc-listen-address", "127.0.0.1:0", ...cluster],
    ...["--bid-price-cpu-scale", "1", "--deployment-ingress-static-hosts"],
    ...["--deployment-ingress-domain", "ingress.example.com", "--cluster-public-hostname", "provider.example.com"],
  ];
  const child = spawn(program, run, { stdio: ["ignore", "pipe", "pipe"], env: bareEnvironment });
  const heard = hear(owner, child);
  const portOf = async (line: RegExp) =>
    Number(await heard.until(`the program says ${line}`, () => line.exec(heard.said)?.[1]));
  const restPort = await portOf(/gateway listening url=\S+:(\d+)/);
  const grpcPort = await portOf(/gRPC gateway listening port=(\d+)/);
  const queries = createQueries(pool);
  const tenants = people.map((signer) =>
    createGatewayTenant({
      ...{ signer, provider: provider.address, queries, send: (...messages) => send(signer, ...messages) },
      services: () => assert.fail("the provider is another process"),
    }),
  );
  await Promise.all(tenants.map((tenant) => deploy(tenant, restPort)));
  const [tenant, attacker] = tenants as [GatewayTenant, GatewayTenant];
  return {
    ...{ restPort, grpcPort, tenant, attacker },
    leaseStatus: () => statusOf(tenant, restPort),
    async grpcLeaseStatus() {
      await using call = createOwner();
      const client = openGrpcClient(call, `https://127.0.0.1:${grpcPort}`, { rejectUnauthorized: false });
      const leaseId = { owner: "", provider: "", dseq: leaseDseq, gseq: 1, oseq: 1, bseq: 0 };
      const request = providerLeaseV1ServiceStatusRequest.encode({ leaseId, services: [] });
      const path = "/akash.provider.lease.v1.LeaseRPC/ServiceStatus";
      return (await client.call(path, request, { authorization: tenant.bearer() })).status;
    },
    peakMb() {
      if (child.exitCode !== null || child.signalCode !== null) return undefined;
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      return Number(kilobytes) / 1_024;
    },
  };
}

/** The settings by which the provider finds it. */
async function startCluster(owner: Owner, folder: string): Promise<string[]> {
  const random = createSeededRandom(2);
  const cluster = createSimulatedCluster({ nodes: [machine], behaviour: () => quick }, { clock, random, log });
  owner.after(() => cluster.close());
  prepareCluster(cluster);
  const face = await startKubeHttpServer(owner, cluster);
  const publisher = createPublisher({ clock, log, waitingFor: () => "nodes", ageMs: () => 0 });
  owner.after(() => publisher.close());
  const storage = [sampleStorage({ class: "beta3" })];
  publisher.show(sampleInventory([sampleNode(machine.name, { storageClasses: ["beta3"] })], { storage }));
  const inventory = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock, log });
  owner.after(() => inventory.close());
  const endpoint = ["--inventory-operator-endpoint", `127.0.0.1:${inventory.port}`];
  return ["--cluster-k8s", "--kubeconfig", face.writeKubeconfig(folder), ...endpoint];
}

async function deploy(tenant: GatewayTenant, port: number): Promise<void> {
  await tenant.lease(leaseDseq);
  const body = JSON.stringify(cell().manifest);
  await eventually("a manifest taken", async () => {
    const path = `/deployment/${leaseDseq}/manifest`;
    const { status } = await sendRequest({ port }, { method: "PUT", path, authorization: tenant.bearer(), body });
    return status === 200;
  });
  await eventually("a pod", async () => {
    const { status, body } = await statusOf(tenant, port);
    return status === 200 && JSON.parse(body).services.cell?.ready_replicas === 1;
  });
}

function statusOf(tenant: GatewayTenant, port: number): Promise<GatewayResponse> {
  return sendRequest({ port }, { path: `/lease/${leaseDseq}/1/1/status`, authorization: tenant.bearer() });
}
