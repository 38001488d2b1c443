import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleLease as lease, sampleExpose, sampleService } from "../../../test/support/samples/lease-samples.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import type { ManifestExpose, ManifestService } from "../../market/manifest.ts";
import { closedRanges, networkPolicies, type PolicySettings } from "./network-policies.ts";

const settings: PolicySettings = {
  enabled: true,
  admitted: [],
  facts: { ranges: [], apiServer: [{ ip: "172.30.0.1", port: 6443 }] },
};

test("a lease that runs nothing is closed all the same", () => {
  assert.deepEqual(Object.keys(policiesOf([])), ["akash-deployment-restrictions"]);
});

test("with policies switched off none is wanted", () => {
  const group = { name: "web", services: [service("web", [{ port: 22 }])] };
  assert.deepEqual(networkPolicies({ lease, group }, { ...settings, enabled: false }), []);
});

test("what is not the internet is closed, ranges that the cluster reports too, each in the block of its family", () => {
  const facts = { ...settings.facts, ranges: ["203.0.113.0/24", "2001:db8::/64"] };
  const { egress } = policiesOf([], { ...settings, facts })["akash-deployment-restrictions"] as Restrictions;
  const [itself, names, internet] = egress;
  assert.deepEqual(itself, {
    to: [{ namespaceSelector: { matchLabels: { "akash.network/namespace": leaseNamespace(lease) } } }],
  });
  assert.deepEqual(names?.ports, [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ]);
  assert.deepEqual(names?.to[1]?.ipBlock, { cidr: "169.254.0.0/16", except: ["169.254.169.0/24"] });
  const [four, six, ...more] = internet?.to ?? [];
  assert.deepEqual(more, []);
  assert.equal(four?.ipBlock?.cidr, "0.0.0.0/0");
  assert.deepEqual(four.ipBlock.except, [...closedRanges.filter((range) => range.includes(".")), "203.0.113.0/24"]);
  assert.equal(six?.ipBlock?.cidr, "::/0");
  const isTranslated = (range: string) => range.startsWith("64:ff9b::");
  const given = (six.ipBlock.except ?? []).filter((range) => !isTranslated(range));
  assert.deepEqual(given, ["2001:db8::/64", "fc00::/7", "fe80::/10"]);
});

test("what is closed is closed as well where a network translates it to the newer family", () => {
  const facts = { ...settings.facts, ranges: ["203.0.113.0/24"] };
  const { egress } = policiesOf([], { ...settings, facts })["akash-deployment-restrictions"] as Restrictions;
  const closed = egress[2]?.to[1]?.ipBlock?.except ?? [];
  for (const range of ["64:ff9b::a00:0/104", "64:ff9b::a9fe:0/112", "64:ff9b::cb00:7100/120"])
    assert.ok(closed.includes(range), range);
  assert.equal(closed.filter((range) => range.startsWith("64:ff9b::")).length, closedRanges.length - 2 + 1);
});

test("an internet that is closed as a whole is left out, and is not everywhere", () => {
  const blocksWith = (...ranges: string[]) => {
    const facts = { ...settings.facts, ranges };
    const { egress } = policiesOf([], { ...settings, facts })["akash-deployment-restrictions"] as Restrictions;
    return egress.slice(2).map(({ to }) => to.map(({ ipBlock }) => ipBlock?.cidr));
  };
  assert.deepEqual(blocksWith("0.0.0.0/0"), [["::/0"]]);
  assert.deepEqual(blocksWith("::/0"), [["0.0.0.0/0"]]);
  assert.deepEqual(blocksWith("0.0.0.0/0", "::/0"), []);
});

test("controllers are admitted by name, by namespace or by address, and no other client is", () => {
  const admitted = [{ pods: "traefik" }, { namespace: "akash-gateway" }, { range: "10.0.0.0/24" }];
  const { ingress } = policiesOf([], { ...settings, admitted })["akash-deployment-restrictions"] as Restrictions;
  const [, ...others] = ingress;
  assert.deepEqual(others, [
    { from: [{ namespaceSelector: {}, podSelector: { matchLabels: { "app.kubernetes.io/name": "traefik" } } }] },
    { from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "akash-gateway" } } }] },
    { from: [{ ipBlock: { cidr: "10.0.0.0/24" } }] },
  ]);
});

test("a public port is opened once for each protocol, one that the ingress serves is not", () => {
  const expose = [{ port: 53 }, { port: 53, proto: "UDP" }, { port: 53, externalPort: 54 }, { port: 80 }] as const;
  const { "akash-web-np": ports, ...others } = policiesOf([service("web", expose)]);
  assert.deepEqual(Object.keys(others), ["akash-deployment-restrictions"]);
  assert.deepEqual((ports as Restrictions).ingress, [
    {
      ports: [
        { port: 53, protocol: "TCP" },
        { port: 53, protocol: "UDP" },
      ],
    },
  ]);
});

test("the API server is open to a service that has a permission, and to no other", () => {
  const params = { storage: null, permissions: { read: ["logs"] } };
  const services = [service("none", []), { ...service("logs", []), params }];
  const { "akash-apiserver-logs": policy, ...others } = policiesOf(services);
  assert.deepEqual(Object.keys(others), ["akash-deployment-restrictions"]);
  assert.deepEqual(policy, {
    podSelector: { matchLabels: { "akash.network/manifest-service": "logs" } },
    policyTypes: ["Egress"],
    egress: [{ ports: [{ port: 6443, protocol: "TCP" }], to: [{ ipBlock: { cidr: "172.30.0.1/32" } }] }],
  });
  const emptied = { storage: null, permissions: { read: [] } };
  const empty = policiesOf([{ ...service("logs", []), params: emptied }]);
  assert.deepEqual(Object.keys(empty), ["akash-deployment-restrictions"]);
});

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except: readonly string[] };
}

interface Restrictions {
  readonly ingress: readonly { readonly from?: readonly Peer[] }[];
  readonly egress: readonly { readonly to: readonly Peer[]; readonly ports?: readonly unknown[] }[];
}

function policiesOf(services: readonly ManifestService[], given = settings): Record<string, unknown> {
  const policies = networkPolicies({ lease, group: { name: "web", services } }, given);
  for (const { object } of policies) assert.equal(object.metadata.namespace, leaseNamespace(lease));
  return Object.fromEntries(policies.map(({ object }) => [object.metadata.name, object["spec"]]));
}

function service(name: string, expose: readonly (Partial<ManifestExpose> & { port: number })[]): ManifestService {
  return sampleService({ name, expose: expose.map((each) => ({ ...sampleExpose, ...each })) });
}
