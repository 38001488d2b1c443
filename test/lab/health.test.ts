/** Status that real kubelets, schedulers and controllers write about failing pods, and the problem that a tenant sees. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shellImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import { podFacts } from "../../src/cluster/health/pod-health.ts";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { labIsMissing, podStartsWithinMs, temporaryNamespace } from "./cluster.ts";
import { container, putPod } from "./odd-pods.ts";
import { openKube } from "./open-kube.ts";

const small = { cpu: "10m", memory: "16Mi" };
const shell = (script: string, more: object = {}) => ({
  containers: [container(small, { command: ["/bin/sh", "-c", script], ...more })],
});
const claims = (claimName: string) => ({ volumes: [{ name: "data", persistentVolumeClaim: { claimName } }] });

/** Pod specs with the expected reason and message. */
const failing: Readonly<Record<string, readonly [spec: object, reason: string, message: RegExp]>> = {
  crashing: [shell("exit 3"), "CrashLoop", /exit code 3/],
  ending: [shell("exit 0"), "CrashLoop", /exit code 0/],
  hungry: [
    shell("head -c 100000000 /dev/zero | tail", { resources: { requests: small, limits: { memory: "16Mi" } } }),
    "OutOfMemory",
    /more memory/,
  ],
  unnamed: [{ containers: [container(small, { image: "No Image" })] }, "ImageError", /"No Image" is not a name/],
  missing: [
    { containers: [container(small, { image: `${shellImage}-missing` })] },
    "ImageError",
    // The lab's images are imported; their registry's name has no server.
    /shell:1-missing" cannot be pulled: its registry does not answer/,
  ],
  commandless: [
    { containers: [container(small, { command: ["/not/there"] })] },
    "CannotStart",
    /the command is not in the image/,
  ],
  secretless: [
    shell("sleep 1000", { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "none", key: "a" } } }] }),
    "CannotStart",
    /cannot be started/,
  ],
  large: [{ containers: [container({ cpu: "10000" })] }, "Unschedulable", /not enough cpu/],
  elsewhere: [{ ...shell("sleep 1000"), nodeSelector: { nowhere: "true" } }, "Unschedulable", /no machine can take it/],
  claiming: [{ ...shell("sleep 1000"), ...claims("none") }, "VolumeNotBound", /waits for its volume/],
  writing: [
    {
      ...shell("head -c 30000000 /dev/zero > /data/file; sleep 1000", {
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      }),
      volumes: [{ name: "data", emptyDir: { sizeLimit: "1Mi" } }],
    },
    "Evicted",
    /more storage/,
  ],
};

test("every problem of a pod has its own reason", { skip: labIsMissing }, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  await Promise.all(Object.entries(failing).map(([name, [spec]]) => putPod(namespace, name, spec)));
  for (const [name, [, reason, message]] of Object.entries(failing)) {
    const facts = () => kube.get(kinds.pod, { namespace, name }).then((pod) => pod && podFacts(pod));
    let shown = "";
    await eventually(
      `${name} to be ${reason}`,
      async () => {
        const { problem } = (await facts()) ?? {};
        shown = `${problem?.reason}: ${problem?.message}`;
        return problem?.reason === reason && message.test(problem.message);
      },
      2 * podStartsWithinMs,
    ).catch((thrown: unknown) => assert.fail(`${String(thrown)}; it is shown as ${shown}`));
    assert.doesNotMatch(shown, /\d+\/\d+ nodes|containerd|\/var\//);
  }
});

const resourceQuota: Kind = {
  ...{ group: "", version: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true },
};

test("a deployment whose pods a quota rejects says so", { skip: labIsMissing }, async (t) => {
  const namespace = await temporaryNamespace(t);
  const kube = openKube(t, places.kubeconfig);
  await kube.create(resourceQuota, { metadata: { namespace, name: "none" }, spec: { hard: { pods: "0" } } });
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [container(small)] } };
  await kube.create(kinds.deployment, {
    metadata: { namespace, name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  });
  await eventually("its failure", async () => {
    const deployment = await kube.get(kinds.deployment, { namespace, name: "web" });
    return recordsOf(fieldsOf(deployment?.["status"])["conditions"]).some(
      ({ type, status, message }) => type === "ReplicaFailure" && status === "True" && /quota/.test(String(message)),
    );
  });
});
