import assert from "node:assert/strict";
import { test } from "node:test";
import { asSent, isAsDesired } from "./as-desired.ts";
import { type Kind, kinds } from "./kinds.ts";
import type { KubeObject } from "./kube.ts";
import { ownedFields } from "./owned-fields.ts";

/** As a real API server writes it after an apply of ours and an edit by another client. */
const live: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "lease",
    uid: "u",
    resourceVersion: "7",
    labels: { app: "web", added: "by-hand" },
    managedFields: [
      {
        manager: "akash-provider",
        operation: "Apply",
        fieldsV1: {
          "f:metadata": { "f:labels": { "f:app": {} } },
          "f:spec": {
            "f:replicas": {},
            "f:template": {
              "f:spec": {
                "f:containers": {
                  'k:{"name":"web"}': {
                    ".": {},
                    "f:args": {},
                    "f:name": {},
                    "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
                    "f:resources": { "f:limits": { "f:cpu": {} } },
                  },
                },
              },
            },
          },
        },
      },
      { manager: "akash-provider", operation: "Update", subresource: "status", fieldsV1: { "f:status": {} } },
      { manager: "kubectl", operation: "Update", fieldsV1: { "f:metadata": { "f:labels": { "f:added": {} } } } },
    ],
  },
  spec: {
    replicas: 2,
    progressDeadlineSeconds: 600,
    template: {
      spec: {
        restartPolicy: "Always",
        containers: [
          { name: "injected", image: "side" },
          {
            name: "web",
            args: ["b", "a"],
            ports: [{ containerPort: 80, protocol: "TCP" }],
            resources: { limits: { cpu: "1" } },
            imagePullPolicy: "Always",
          },
        ],
      },
    },
  },
};

const container = {
  name: "web",
  args: ["b", "a"],
  ports: [{ containerPort: 80 }],
  resources: { limits: { cpu: "1000m" } },
};

function wish(parts: { replicas?: number; labels?: object; container?: object; spec?: object } = {}): KubeObject {
  const { replicas = 2, labels = { app: "web" }, spec } = parts;
  const containers = [{ ...container, ...parts.container }];
  const metadata = { namespace: "lease", name: "web", labels } as KubeObject["metadata"];
  return { metadata, spec: { template: { spec: { containers } }, replicas, ...spec } };
}

const us = "akash-provider";

function fulfils(object: KubeObject, desired: KubeObject, kind: Kind = kinds.deployment): boolean {
  return isAsDesired(kind, desired, ownedFields(object, us));
}

/** An object of which these fields are ours. */
function ours(fieldsV1: Record<string, unknown>, fields: Record<string, unknown>): KubeObject {
  return { metadata: { name: "one", managedFields: [{ manager: us, operation: "Apply", fieldsV1 }] }, ...fields };
}

const named = { metadata: { name: "one" } };

test("fields that the server and other clients added do not matter", () => {
  assert.equal(fulfils(live, wish()), true);
});

test("another value, order or set of fields is not as desired", () => {
  const others = [
    wish({ replicas: 3 }),
    wish({ container: { args: ["a", "b"] } }),
    wish({ container: { image: "new" } }),
    wish({ container: { args: undefined } }),
    wish({ container: { ports: [{ containerPort: 80, protocol: "TCP" }] } }),
    wish({ container: { ports: [{ containerPort: 80 }, { containerPort: 81 }] } }),
    wish({ container: { resources: { limits: { cpu: "1001m" } } } }),
    wish({ labels: {} }),
    wish({ labels: { app: "web", added: "by-hand" } }),
    wish({ spec: { paused: false } }),
    wish({ spec: { selector: {} } }),
  ];
  for (const other of others) assert.equal(fulfils(live, other), false, JSON.stringify(other));
});

test("a field that another client changed is no longer ours, so the wish is not fulfilled even by the same value", () => {
  const [entry, ...rest] = live.metadata.managedFields ?? [];
  const spec = { ...(entry?.fieldsV1?.["f:spec"] as object), "f:replicas": undefined };
  const taken = JSON.parse(JSON.stringify({ ...entry?.fieldsV1, "f:spec": spec }));
  const managedFields = [{ ...entry, fieldsV1: taken }, ...rest];
  assert.equal(fulfils({ ...live, metadata: { ...live.metadata, managedFields } }, wish()), false);
});

test("of an object that we never applied nothing is ours, so only a wish for nothing is fulfilled", () => {
  const foreign = { ...live, metadata: { ...live.metadata, managedFields: [] } };
  assert.equal(fulfils(foreign, wish()), false);
  assert.equal(fulfils(foreign, { metadata: { namespace: "lease", name: "web" } }), true);
});

test("an object that is being deleted is not as desired", () => {
  const leaving = { ...live, metadata: { ...live.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.equal(fulfils(leaving, wish()), false);
});

test("a field of ours that is not there was empty when we applied it", () => {
  const paths = { "f:spec": { "f:a": {}, "f:b": {}, "f:c": {}, "f:d": {}, "f:e": {} } };
  const empty = { a: "", b: 0, c: false, d: [], e: {} };
  assert.equal(fulfils(ours(paths, { spec: {} }), { ...named, spec: empty }), true);
  for (const full of [{ a: "x" }, { b: 1 }, { c: true }, { d: [""] }, { e: { f: "x" } }]) {
    assert.equal(fulfils(ours(paths, { spec: {} }), { ...named, spec: { ...empty, ...full } }), false);
  }
});

test("an empty list that is shared by elements owns nothing; one that another client filled is not as wished", () => {
  const desired = { ...named, spec: { a: "x", list: [], deep: { list: [] } } };
  const paths = { "f:spec": { "f:a": {} } };
  assert.equal(fulfils(ours(paths, { spec: { a: "x" } }), desired), true);
  assert.equal(fulfils(ours(paths, { spec: { a: "x", list: ["theirs"] } }), desired), false);
});

test("atomic values may have the server's defaults in addition", () => {
  const policy = (peer: object, port: object) => ({ spec: { ingress: [{ from: [peer], ports: [port] }] } });
  const object = (peer: object, port: object) => ours({ "f:spec": { "f:ingress": {} } }, policy(peer, port));
  const everybody = { podSelector: { matchLabels: { a: "b" } }, namespaceSelector: {} };
  const neighbours = { podSelector: { matchLabels: { a: "b" } } };
  const filled = { port: 80, protocol: "TCP" };
  const wished = (peer: object, port: object) => ({ ...named, ...policy(peer, port) });
  const isFulfilled = (have: [object, object], want: [object, object]) =>
    fulfils(object(...have), wished(...want), kinds.networkPolicy);
  assert.equal(isFulfilled([neighbours, filled], [neighbours, { port: 80 }]), true);
  assert.equal(isFulfilled([neighbours, filled], [neighbours, { port: 80, protocol: "UDP" }]), false);
  assert.equal(isFulfilled([neighbours, { port: 80, protocol: "UDP" }], [neighbours, { port: 80 }]), false);
  assert.equal(isFulfilled([everybody, filled], [neighbours, filled]), false, "a selector that was wished once");
  assert.equal(isFulfilled([neighbours, filled], [everybody, filled]), false, "one that is wished now");
  assert.equal(isFulfilled([neighbours, { ...filled, endPort: 90 }], [neighbours, filled]), false);
});

test("amounts are compared where the kind has amounts, and nowhere else", () => {
  const limits = (value: unknown) => ({ "f:limits": { "f:cpu": value } });
  const pod = (cpu: unknown) => ({ spec: { containers: [{ name: "a", resources: { limits: { cpu } } }] } });
  const paths = { "f:spec": { "f:containers": { 'k:{"name":"a"}': { "f:name": {}, "f:resources": limits({}) } } } };
  assert.equal(fulfils(ours(paths, pod("1")), { ...named, ...pod("1000m") }, kinds.pod), true);
  assert.equal(fulfils(ours(paths, pod("1")), { ...named, ...pod(1) }, kinds.pod), true);
  assert.equal(fulfils(ours(paths, pod("1")), { ...named, ...pod("1001m") }, kinds.pod), false);
  assert.equal(fulfils(ours(paths, pod("1")), { ...named, ...pod("1000m") }, kinds.manifest), false);
  const text = (value: string) => ({ data: { limits: value } });
  const map = ours({ "f:data": { "f:limits": {} } }, text("1"));
  assert.equal(fulfils(map, { ...named, ...text("1000m") }, kinds.configMap), false);
});

test("stringData of a Secret is sent as data", () => {
  const secret = { ...named, data: { a: "QQ==" }, stringData: { b: "é" } };
  assert.deepEqual(asSent(kinds.secret, secret), { ...named, data: { a: "QQ==", b: "w6k=" } });
  assert.equal(asSent(kinds.manifest, secret), secret);
});
