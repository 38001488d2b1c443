import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../../kube/kube.ts";
import { noOvercommit } from "../../../market/fit.ts";
import type { ResourceUnit } from "../../../market/group-spec.ts";
import { readSdl } from "../../../market/sdl/sdl.ts";
import { freeRoom, podsOnNodes, takeRoom } from "./free-room.ts";

const ready = [{ type: "Ready", status: "True" }];
const allocatable = { cpu: "4", memory: "8Gi", "ephemeral-storage": "100Gi" };

function node(name: string, spec: object = {}, conditions: object[] = ready): KubeObject {
  return { metadata: { name }, spec, status: { allocatable, conditions } };
}

function pod(nodeName: string | undefined, cpu: string, phase = "Running"): KubeObject {
  const containers = [{ name: "web", resources: { requests: { cpu, memory: "1Gi" } } }];
  const labels = { "akash.network/manifest-service": "web" };
  return {
    metadata: { namespace: "lease", name: cpu, labels },
    spec: { ...(nodeName !== undefined && { nodeName }), containers },
    status: { phase },
  };
}

/** With a GPU and a volume, of which nothing is known here. */
function units(cpu: number, count: number): readonly ResourceUnit[] {
  const storage = [{ size: "1Gi" }, { name: "data", size: "1Gi", attributes: { persistent: true, class: "beta3" } }];
  const gpu = { units: 1, attributes: { vendor: { nvidia: [{ model: "h100" }] } } };
  const resources = { cpu: { units: cpu }, memory: { size: "1Gi" }, storage, gpu };
  const sdl = {
    version: "2.0",
    services: {
      web: {
        image: "web:1",
        expose: [{ port: 80, to: [{ global: true }] }],
        params: { storage: { data: { mount: "/data" } } },
      },
    },
    profiles: {
      compute: { web: { resources } },
      placement: { box: { pricing: { web: { denom: "uact", amount: 1 } } } },
    },
    deployment: { web: { box: { profile: "web", count } } },
  };
  return readSdl(JSON.stringify(sdl)).groups[0]?.units ?? [];
}

test("free is what a node has less what its pods request, and what has ended requests nothing", () => {
  const room = freeRoom([node("a")], [pod("a", "1500m"), pod("a", "2", "Failed"), pod(undefined, "2", "Pending")]);
  assert.deepEqual(room.node("a")?.free.slice(0, 2), [2_500n, 7n * 2n ** 30n]);
});

test("nodes that take no pods have no room", () => {
  const tainted = node("b", { taints: [{ key: "k", effect: "NoSchedule" }] });
  const { nodes } = freeRoom([node("a", { unschedulable: true }), tainted, node("c", {}, []), node("d")], []);
  assert.deepEqual(
    nodes.map(({ name }) => name),
    ["d"],
  );
});

test("what one lease takes another does not have, whatever GPUs and volumes they want", () => {
  const room = freeRoom([node("a"), node("b")], [pod("a", "1")]);
  assert.equal(takeRoom(room, units(3, 2), noOvercommit), undefined);
  assert.match(takeRoom(room, units(2, 1), noOvercommit) ?? "", /no node has 2 of cpu free/);
  assert.equal(takeRoom(room, units(1, 1), noOvercommit), undefined);
});

test("a pod that was evicted is on no node any more", () => {
  const counts = podsOnNodes([pod("a", "1"), pod("a", "2", "Failed"), pod(undefined, "3", "Pending")]);
  assert.deepEqual([...counts], [["lease web", 1]]);
});
