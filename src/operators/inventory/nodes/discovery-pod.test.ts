import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../../../kube/kube.ts";
import { discoveryPod, discoveryPodName, isMadeAs, livePod } from "./discovery-pod.ts";

const node = { name: "one", uid: "u-1" };
const options = { namespace: "akash-discovery", image: "provider:1", port: 8081, privileged: true };
const pod = discoveryPod(node, options);

interface Spec {
  readonly nodeName: string;
  readonly containers: readonly { readonly volumeMounts: readonly { readonly readOnly: boolean }[] }[];
  readonly [field: string]: unknown;
}
const spec = pod["spec"] as Spec;
const [container] = spec.containers;

function withStatus(status: object): KubeObject {
  return { ...pod, status };
}

test("a discovery pod sees the node as root, and mounts nothing that can be written", () => {
  assert.partialDeepStrictEqual(container, {
    securityContext: { privileged: true, runAsUser: 0, readOnlyRootFilesystem: true },
    volumeMounts: [{ mountPath: "/host/proc" }, { mountPath: "/host/sys" }],
  });
  assert.ok(container?.volumeMounts.every(({ readOnly }) => readOnly));
});

test("without privilege a discovery pod runs as user 65534, without escalation, with the same mounts", () => {
  const [unprivileged] = (discoveryPod(node, { ...options, privileged: false })["spec"] as Spec).containers;
  assert.deepEqual((unprivileged as { securityContext?: unknown } | undefined)?.securityContext, {
    runAsNonRoot: true,
    runAsUser: 65_534,
    runAsGroup: 65_534,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  });
  assert.deepEqual(unprivileged?.volumeMounts, container?.volumeMounts);
});

test("a discovery pod tolerates all taints, requests nothing and preempts no pod", () => {
  assert.equal(spec.nodeName, "one");
  assert.deepEqual(spec["tolerations"], [{ operator: "Exists" }]);
  assert.partialDeepStrictEqual(container, { resources: { requests: { cpu: "0", memory: "0" } } });
  assert.equal(spec["priorityClassName"], undefined);
});

test("a discovery pod has the pull secrets of its operator", () => {
  const withSecrets = discoveryPod(node, { ...options, pullSecrets: ["registry"] });
  assert.deepEqual((withSecrets["spec"] as Spec)["imagePullSecrets"], [{ name: "registry" }]);
  assert.equal(isMadeAs(livePod(pod), "one", { ...options, pullSecrets: ["registry"] }), false, "it is replaced");
});

test("a discovery pod cannot speak to the API server, and goes with its node", () => {
  assert.equal(spec["automountServiceAccountToken"], false);
  assert.equal(spec["serviceAccountName"], undefined);
  assert.partialDeepStrictEqual(pod.metadata, {
    namespace: "akash-discovery",
    ownerReferences: [{ kind: "Node", name: "one", uid: "u-1" }],
  });
});

test("a live pod is known by how it was made", () => {
  const live = livePod(pod);
  assert.deepEqual([live.name, live.node], [discoveryPodName("one"), "one"]);
  assert.ok(isMadeAs(live, "one", options));
  assert.ok(!isMadeAs(live, "one", { ...options, image: "provider:2" }));
});

test("a pod that was turned away has ended, for the reason that the kubelet gave", () => {
  const live = livePod(withStatus({ phase: "Failed", reason: "OutOfpods", message: "Pod was rejected: …" }));
  assert.deepEqual([live.finished, live.ready, live.reason], [true, false, "OutOfpods: Pod was rejected: …"]);
});

test("a pod that waits says what its container waits for", () => {
  const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling image" };
  const live = livePod(withStatus({ phase: "Pending", containerStatuses: [{ state: { waiting } }] }));
  assert.deepEqual([live.finished, live.reason], [false, "Pending: ImagePullBackOff: Back-off pulling image"]);
});

test("a name that would be too long ends in a digest, so that no two nodes share a pod", () => {
  const [a, b] = ["a", "b"].map((end) => discoveryPodName(`${"n".repeat(240)}${end}`));
  assert.ok(a && b && a.length <= 253 && b.length <= 253);
  assert.notEqual(a, b);
});
