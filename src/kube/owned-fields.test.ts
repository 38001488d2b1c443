import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "./kube.ts";
import { digest, ownedFields, wishedFields } from "./owned-fields.ts";

/** As a real API server writes it after an apply of ours and an edit by somebody else. */
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

function wish(parts: { replicas?: number; container?: object } = {}): KubeObject {
  const { replicas = 2 } = parts;
  const containers = [{ ...container, ...parts.container }];
  return {
    metadata: { namespace: "lease", name: "web", labels: { app: "web" } },
    spec: { template: { spec: { containers } }, replicas },
  };
}

const owned = digest(ownedFields(live, "akash-provider").fields);
const wished = (desired: KubeObject) => digest(wishedFields(desired));

test("what we own equals what we wished, whatever the server, other people and other controllers added", () => {
  assert.equal(wished(wish()), owned);
});

test("another value, another order, one field more or less is another wish", () => {
  const others = [
    wish({ replicas: 3 }),
    wish({ container: { args: ["a", "b"] } }),
    wish({ container: { image: "new" } }),
    wish({ container: { args: undefined } }),
    wish({ container: { resources: { limits: { cpu: "1001m" } } } }),
  ];
  for (const other of others) assert.notEqual(wished(other), owned);
});

test("a field that somebody changed is no longer ours, so the wish is not fulfilled", () => {
  const [ours, ...rest] = live.metadata.managedFields ?? [];
  const spec = { ...(ours?.fieldsV1?.["f:spec"] as object), "f:replicas": undefined };
  const taken = JSON.parse(JSON.stringify({ ...ours?.fieldsV1, "f:spec": spec }));
  const managedFields = [{ ...ours, fieldsV1: taken }, ...rest];
  const edited = {
    ...live,
    metadata: { ...live.metadata, managedFields },
    spec: { ...(live["spec"] as object), replicas: 5 },
  };
  assert.notEqual(digest(ownedFields(edited, "akash-provider").fields), owned);
});

test("of an object that we never applied nothing is ours", () => {
  assert.equal(ownedFields(live, "akash-operator-ip").fields, undefined);
});
