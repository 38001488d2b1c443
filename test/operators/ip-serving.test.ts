/** REST and gRPC answers of the IP operator for our provider and the Go provider, in every state of an address. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { createGet, createIpOperator } from "../../src/cluster/capacity/addresses/ip-operator.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { formatOrderId } from "../../src/market/ids.ts";
import { startIpGrpc, startIpRest } from "../../src/operators/ip/serving.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { operatorIpV1State, operatorIpV1Status, operatorIpV1Usage } from "../../src/runtime/grpc/akash-proto.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { eventually } from "../support/eventually.ts";
import { openGrpcClient } from "../support/grpc-client.ts";
import type { Owner } from "../support/owner.ts";
import { type IpStage, type IpStageOptions, leaseOf, openIpStage, provider } from "../support/stages/ip-stage.ts";

const [ann, ben] = [leaseOf(1, 1), leaseOf(2, 3)];
const never = new AbortController().signal;

async function openServed(t: Owner, options: IpStageOptions = {}) {
  const stage = await openIpStage(t, options);
  const rest = await startIpRest(stage.operator, provider, {
    ...{ host: "127.0.0.1", port: 0, version: "test", refreshMs: 5_000, clock: stage.clock, log: silentLog },
    metrics: { text: async () => "", contentType: "text/plain" },
  });
  t.after(() => rest.close());
  const endpoint = { host: "127.0.0.1", port: rest.port };
  const noKube = new Promise<Kube>(() => undefined);
  const client = createIpOperator(createGet({ endpoint, inCluster: false, kube: noKube }, realClock));
  return { stage, client, rest };
}

const shortage = { reason: "PoolExhausted", message: "no IP addresses available in pool" };

test("one pending address does not hide other addresses and usage", async (t) => {
  const { stage, client } = await openServed(t, { pool: "172.30.0.200/32" });
  stage.declare(ann);
  await stage.settled();
  stage.declare(ann, { endpoint: "green", externalPort: 443 });
  stage.declare(ben);
  await stage.settled();
  const addresses = async (lease: typeof ann) =>
    (await client.portsOf(formatOrderId(lease), never)).map(
      ({ address, externalPort }) => `${address}:${externalPort}`,
    );
  assert.deepEqual(await addresses(ann), ["172.30.0.200:80"]);
  assert.deepEqual(await addresses(ben), []);
  assert.deepEqual(await client.usage(never), { total: 1n, inUse: 1n, provider, shortage });
});

test("an operator that lost the cluster serves no usage, and the last known addresses of leases", async (t) => {
  const { stage, client } = await openServed(t);
  stage.declare(ann);
  await stage.settled();
  const { faults } = stage.cluster;
  for (const verb of ["list", "watch"] as const) faults.forbid(verb, kinds.ipAddressPool);
  faults.cutWatches();
  await stage.settled(60_000);
  await assert.rejects(client.usage(never), /\/usage was answered with HTTP 503/);
  assert.equal((await client.portsOf(formatOrderId(ann), never)).length, 1);
});

test("usage is never cached, as a bid must not promise an address in use", async (t) => {
  const { stage, client } = await openServed(t, { pool: "172.30.0.200-172.30.0.201" });
  assert.deepEqual(await client.usage(never), { total: 2n, inUse: 0n, provider });
  stage.declare(ann);
  await stage.settled(1_000);
  assert.deepEqual(await client.usage(never), { total: 2n, inUse: 1n, provider });
  // Several ports of one address, and several leases on it, are one address.
  stage.declare(ann, { externalPort: 81 });
  stage.declare(leaseOf(1, 2), { externalPort: 82 });
  await stage.settled(1_000);
  assert.deepEqual(await client.usage(never), { total: 2n, inUse: 1n, provider });
  stage.setPool("default", ["172.30.0.200-172.30.0.215"]);
  await stage.settled(1_000);
  assert.deepEqual(await client.usage(never), { total: 16n, inUse: 1n, provider });
});

test("of two keys that request the last address, one waits until it is free again", async (t) => {
  const { stage, client } = await openServed(t, { pool: "172.30.0.200/32" });
  stage.declare(ann);
  stage.declare(ben);
  await stage.settled(30_000);
  const given = () => stage.shown().filter((each) => each.endsWith("172.30.0.200"));
  assert.equal(given().length, 1);
  assert.deepEqual(await client.usage(never), { total: 1n, inUse: 1n, provider, shortage });
  const [first = ""] = given();
  const [winner, loser] = first.includes("of 1 ") ? [ann, ben] : [ben, ann];
  assert.equal(stage.operator.ignored.isFlagged(loser), true);
  stage.withdraw(winner);
  await stage.settled(5_000);
  assert.match(given().join(), new RegExp(`of ${loser.dseq} at`));
  await stage.settled();
  assert.equal(stage.operator.ignored.isFlagged(loser), false);
});

test("gRPC serves status, state and usage, and a stream of changes", async (t) => {
  const stage = await openIpStage(t);
  const grpc = await startIpGrpc(stage.operator, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
  t.after(() => grpc.close());
  const client = openGrpcClient(t, `http://127.0.0.1:${grpc.port}`);
  const path = (method: string) => `/akash.operator.ip.v1.IpRPC/${method}`;
  const empty = new Uint8Array(5);
  const stream = client.open(path("StreamState"), empty);
  const last = () => {
    const message = stream.messages.at(-1);
    const { ports } = message ? operatorIpV1State.decode(message) : { ports: undefined };
    return ports?.map(({ service, externalPort, address }) => `${service} ${externalPort} ${address}`).join();
  };
  await eventually("the first state", () => last() === "");
  stage.declare(ann);
  await stage.settled();
  await eventually("the next state", () => last() === "web 80 172.30.0.200");
  const ask = async (method: string) => (await client.open(path(method), empty).ended).message;
  const usage = operatorIpV1Usage.decode(await ask("GetUsage"));
  assert.deepEqual([usage.total, usage.inUse, usage.free], [4n, 1n, 3n]);
  const status = operatorIpV1Status.decode(await ask("GetStatus"));
  assert.deepEqual([status.leading, status.ports, status.pendingPorts], [true, 1n, 0n]);
  assert.equal(operatorIpV1State.decode(await ask("GetState")).ports?.[0]?.address, "172.30.0.200");
});

async function metricsServer(t: Owner, stage: () => IpStage | undefined) {
  const world = { status: 200, text: undefined as string | undefined, requests: 0 };
  const server = createServer((_, response) => {
    world.requests += 1;
    response.writeHead(world.status).end(world.text ?? stage()?.metalLb?.metrics() ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  const address = server.address();
  return { world, endpoint: { host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0 } };
}

test("MetalLB's own counts are compared once a minute, and nothing depends on them", async (t) => {
  let stage: IpStage | undefined;
  const { world, endpoint } = await metricsServer(t, () => stage);
  stage = await openIpStage(t, { operator: { metalLb: endpoint } });
  const { operator, clock } = stage;
  const types = () => operator.conditions.map(({ type }) => type).join();
  /** A real socket takes real time: a minute passes at each look. */
  const comes = (what: string, look: () => boolean) =>
    eventually(what, async () => {
      await clock.advance(60_000);
      return look();
    });
  stage.declare(ann);
  await comes("two rounds", () => world.requests > 2);
  assert.deepEqual([types(), operator.usage.inUse], ["", 1n]);
  const name = "metallb_allocator_addresses";
  world.text = `${name}_in_use_total{pool="default"} 3\n${name}_total{pool="default"} 4\n`;
  await comes("the difference", () => types() === "CountsDiffer");
  world.status = 500;
  await comes("the condition", () => types().includes("MetricsUnreadable"));
  stage.declare(ben);
  await stage.settled();
  assert.equal(operator.usage.inUse, 2n);
});

test("a count of addresses that exceeds 64 bits is bounded in messages", async (t) => {
  const { stage, client } = await openServed(t, { pool: "2001:db8::/56", clusterIp: "fd00::1" });
  await stage.settled();
  assert.equal(stage.operator.usage.total, 2n ** 72n);
  assert.deepEqual(await client.usage(never), { total: 2n ** 72n, inUse: 0n, provider });
  const grpc = await startIpGrpc(stage.operator, { host: "127.0.0.1", port: 0, clock: realClock, log: silentLog });
  t.after(() => grpc.close());
  const grpcClient = openGrpcClient(t, `http://127.0.0.1:${grpc.port}`);
  const { message } = await grpcClient.open("/akash.operator.ip.v1.IpRPC/GetUsage", new Uint8Array(5)).ended;
  const usage = operatorIpV1Usage.decode(message);
  assert.deepEqual([usage.total, usage.free], [2n ** 64n - 1n, 2n ** 64n - 1n]);
});
