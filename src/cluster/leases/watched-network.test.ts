import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateKube } from "../../../test/support/kube/simulated-kube.ts";
import type { Owner } from "../../../test/support/owner.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { kinds } from "../../kube/kinds.ts";
import { type NetworkSettings, networkEveryMs, watchNetwork, watchNodes } from "./watched-network.ts";

const settings: NetworkSettings = { enabled: true, admitted: [{ pods: "traefik" }], closedRanges: [] };

test("addresses and pod ranges of nodes are closed, once each and sorted", async (t) => {
  const { server, network, changes, passes } = await open(t, {
    ...settings,
    closedRanges: ["198.51.100.0/24", "10.96.0.0/12"],
  });
  assert.deepEqual(network.policies().facts, { ranges: ["198.51.100.0/24"], apiServer: [] });
  const before = network.policies();
  for (const [name, addresses, podCIDRs] of [
    ["b", ["203.0.113.9", "192.168.1.9", "host-b"], ["203.0.115.0/24", "2001:db8:2::/64"]],
    ["a", ["203.0.113.7", "198.51.100.7"], ["10.244.0.0/24"]],
  ] as const) {
    server.create(
      kinds.node,
      {
        metadata: { name },
        spec: { podCIDR: podCIDRs[0], podCIDRs: [...podCIDRs] },
        status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
      },
      "test",
    );
  }
  await passes();
  assert.equal(changes(), 1);
  const ranges = ["198.51.100.0/24", "203.0.113.7/32", "203.0.113.9/32", "203.0.115.0/24", "2001:db8:2::/64"];
  assert.deepEqual(network.policies(), { ...before, facts: { ranges, apiServer: [] } });
});

test("a node with private addresses changes nothing, and neither does a word that says the same", async (t) => {
  const { server, network, changes, passes } = await open(t, settings);
  const before = network.policies();
  const metadata = { name: "one" };
  const status = {
    addresses: [
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "Hostname", address: "one" },
    ],
  };
  server.create(kinds.node, { metadata, spec: { podCIDR: "10.244.1.0/24" }, status }, "test");
  await passes();
  assert.equal(changes(), 0);
  assert.equal(network.policies(), before);
});

test("where the API server answers is followed as it moves", async (t) => {
  const { server, network, changes, passes } = await open(t, settings);
  const slice = (name: string, addresses: readonly string[], service = "kubernetes") => ({
    metadata: { namespace: "default", name, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: [{ addresses: [...addresses] }],
    ports: [{ name: "https", port: 6443, protocol: "TCP" }],
  });
  server.create(kinds.endpointSlice, slice("kubernetes", ["172.30.0.2", "172.30.0.1"]), "test");
  server.create(kinds.endpointSlice, slice("other", ["172.30.0.9"], "other"), "test");
  await passes();
  const apiServer = ["172.30.0.1", "172.30.0.2"].map((ip) => ({ ip, port: 6443 }));
  assert.deepEqual(network.policies().facts.apiServer, apiServer);
  assert.equal(changes(), 1);
});

test("an API server on a public address is closed to workloads without permission", async (t) => {
  const { server, network, passes } = await open(t, settings);
  const metadata = { namespace: "default", name: "kubernetes", labels: { "kubernetes.io/service-name": "kubernetes" } };
  const endpoints = [{ addresses: ["203.0.113.5"] }];
  const ports = [{ name: "https", port: 443, protocol: "TCP" }];
  server.create(kinds.endpointSlice, { metadata, addressType: "IPv4", endpoints, ports }, "test");
  await passes();
  const apiServer = [{ ip: "203.0.113.5", port: 443 }];
  assert.deepEqual(network.policies().facts, { ranges: ["203.0.113.5/32"], apiServer });
});

test("without policies nothing is watched but the nodes, which others need", async (t) => {
  const clock = createVirtualClock();
  const cluster = simulateKube(t, { clock });
  const kube = cluster.connect("akash-provider");
  const network = watchNetwork({ ...settings, enabled: false }, { kube, nodes: watchNodes(kube), clock });
  await network.synced();
  assert.equal(network.policies().enabled, false);
  assert.deepEqual(
    Array.from(kube.watches, ({ resource }) => resource),
    ["nodes"],
  );
  await network.close();
});

async function open(owner: Owner, given: NetworkSettings) {
  const clock = createVirtualClock();
  const { server, connect } = simulateKube(owner, { clock });
  const kube = connect("akash-provider");
  const network = watchNetwork(given, { kube, nodes: watchNodes(kube), clock });
  owner.after(() => network.close());
  await network.synced();
  let count = 0;
  network.onChange(() => {
    count += 1;
  });
  // As long as two looks, so that nothing is under way.
  const passes = () => clock.advance(2 * networkEveryMs);
  await passes();
  count = 0;
  return { server, network, changes: () => count, passes };
}
