import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../shapes/pod.ts";
import { podRequests } from "./requests.ts";

const container = (cpu: string, more: Partial<Container> = {}): Container => ({
  name: "c",
  image: "i",
  resources: { requests: { cpu } },
  ...more,
});

function cpuOf(spec: Partial<Pod["spec"]>): bigint | undefined {
  const metadata = { name: "p", uid: "u" };
  return podRequests({ metadata, spec: { containers: [], ...spec } }).get("cpu");
}

test("the containers of a pod count together", () => {
  assert.equal(cpuOf({ containers: [container("500m"), container("1")] }), 1_500n);
});

test("an init container counts only where it needs more than all that comes after it", () => {
  const containers = [container("500m"), container("500m")];
  assert.equal(cpuOf({ containers, initContainers: [container("900m")] }), 1_000n);
  assert.equal(cpuOf({ containers, initContainers: [container("900m"), container("3")] }), 3_000n);
});

test("a sidecar counts with the containers, and with the init containers that start after it", () => {
  const sidecar = container("300m", { restartPolicy: "Always" });
  assert.equal(cpuOf({ containers: [container("500m")], initContainers: [sidecar] }), 800n);
  assert.equal(cpuOf({ containers: [container("500m")], initContainers: [sidecar, container("1")] }), 1_300n);
  assert.equal(cpuOf({ containers: [container("500m")], initContainers: [container("1"), sidecar] }), 1_000n);
});

test("the overhead of a pod comes on top", () => {
  assert.equal(cpuOf({ containers: [container("500m")], overhead: { cpu: "250m" } }), 750n);
});

test("a limit without a request is a request", () => {
  const limited = { name: "c", image: "i", resources: { limits: { cpu: "2", "nvidia.com/gpu": "1" } } };
  const requests = podRequests({ metadata: { name: "p", uid: "u" }, spec: { containers: [limited] } });
  assert.deepEqual(
    [...requests],
    [
      ["cpu", 2_000n],
      ["nvidia.com/gpu", 1n],
    ],
  );
});
