import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "../objects/status-error.ts";
import { builtInShape } from "./built-in.ts";
import { conform } from "./conform.ts";
import { pruneCustom } from "./prune.ts";
import { customShape } from "./read-shape.ts";
import { typeFault } from "./type-fault.ts";

const pod = builtInShape("core.v1.Pod");
const podSpec = builtInShape("core.v1.PodSpec");

test("fields that a type does not have are dropped", () => {
  assert.deepEqual(conform({ key: "a", effect: "NoSchedule", oops: 1 }, builtInShape("core.v1.Taint")), {
    key: "a",
    effect: "NoSchedule",
  });
});

test("zero values are left out or put in, as the type says", () => {
  const container = { name: "a", image: "", stdin: false, env: [], args: ["x"], ports: [{ containerPort: 0 }] };
  assert.deepEqual(conform({ containers: [container], hostNetwork: false, hostUsers: false }, podSpec), {
    containers: [{ name: "a", args: ["x"], ports: [{ containerPort: 0, protocol: "TCP" }], resources: {} }],
    // For this field the server distinguishes false from unset.
    hostUsers: false,
  });
});

test("amounts and times come back in one notation", () => {
  const limits = { cpu: "1000m", memory: "1024Mi", "nvidia.com/gpu": 1 };
  assert.deepEqual(conform({ limits }, builtInShape("core.v1.ResourceRequirements")), {
    limits: { cpu: "1", memory: "1Gi", "nvidia.com/gpu": "1" },
  });
  const lease = (renewTime: string) => conform({ renewTime }, builtInShape("coordination.v1.LeaseSpec"));
  const renewTime = "2026-01-01T00:00:00.123000Z";
  assert.deepEqual(lease(renewTime), { renewTime });
  assert.throws(() => lease("2026-01-01T00:00:00.123Z"), /expected micro-time/, "it takes six digits and no fewer");
  const condition = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00.123Z" };
  assert.deepEqual(conform(condition, builtInShape("apps.v1.DeploymentCondition")), {
    ...condition,
    lastTransitionTime: "2026-01-01T00:00:00Z",
    lastUpdateTime: null,
  });
});

test("what was written back once is written back the same again", () => {
  const sent = { metadata: { name: "a", labels: {} }, spec: { containers: [{ name: "a", image: "b" }], volumes: [] } };
  const once = conform(sent, pod);
  assert.deepEqual(conform(once, pod), once);
});

test("a value of another type is rejected with its place", () => {
  const wrong = { spec: { containers: [{ name: "a", env: [{ name: "A", value: 1 }] }] } };
  assert.throws(
    () => conform(wrong, pod),
    (thrown) => thrown instanceof StatusError && /\.spec\.containers\.env\.value: expected string/.test(thrown.message),
  );
  assert.equal(typeFault(wrong, pod), '.spec.containers[name="a"].env[name="A"].value: expected string, got 1');
  assert.equal(typeFault({ spec: { container: [] } }, pod), ".spec.container: field not declared in schema");
});

test("a custom resource has the fields, defaults and lists of its definition", () => {
  const shape = customShape(
    {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            size: { type: "integer", default: 2 },
            open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            names: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
          },
        },
      },
    },
    builtInShape("meta.v1.ObjectMeta"),
  );
  const sent = { metadata: { name: "a" }, spec: { open: { any: 1 }, names: ["x"], gone: true }, gone: true };
  assert.deepEqual(pruneCustom(sent, shape), {
    metadata: { name: "a" },
    spec: { open: { any: 1 }, names: ["x"], size: 2 },
  });
});
