/** Pod Security at the level `baseline`: what it rejects of pods, and what it warns of in workloads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import { eventually } from "../eventually.ts";
import { clusterMs, rejection } from "../kube/kube-objects.ts";
import type { OpenKube } from "./kube.contract.ts";

const dryRun = true;

export function checkPodSecurity(open: OpenKube): void {
  test("in a namespace at the level baseline, pods that could harm the node are rejected, each with its reasons", async (t) => {
    const { kube, namespace } = await stage(await open(t));
    for (const [spec, reasons] of violations) {
      const pod = { metadata: { namespace, name: "one" }, spec };
      const { message } = await rejection(kube.apply(kinds.pod, pod, { dryRun, live: null }), "AKP_KUBE_FORBIDDEN");
      assert.equal(message.split(" is forbidden: ")[1], `violates PodSecurity "baseline:latest": ${reasons}`);
    }
  });

  test("a workload whose pods would be rejected is taken, and warned of", async (t) => {
    const { kube, namespace } = await stage(await open(t));
    for (const [spec, reasons] of [...violations, [plain, undefined] as const]) {
      const labels = { app: "web" };
      const template = { metadata: { labels }, spec };
      const workload = { metadata: { namespace, name: "web" }, spec: { selector: { matchLabels: labels }, template } };
      const { warnings } = await kube.apply(kinds.deployment, workload, { dryRun, live: null });
      assert.deepEqual(warnings, reasons ? [`would violate PodSecurity "baseline:latest": ${reasons}`] : []);
    }
    assert.equal(kube.counts.warnings, violations.length);
  });
}

async function stage({ kube, namespace }: { kube: Kube; namespace: string }) {
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  await kube.apply(kinds.namespace, { metadata: { name: namespace, labels } });
  const pod = { metadata: { namespace, name: "one" }, spec: plain };
  // The namespace's service account comes a moment after the namespace.
  await eventually("pods to be accepted", () => kube.apply(kinds.pod, pod, { dryRun }), clusterMs);
  return { kube, namespace };
}

const plain = { containers: [container({ capabilities: { add: ["CHOWN"] } })] };

const violations: readonly (readonly [spec: object, reasons: string])[] = [
  [{ ...plain, hostNetwork: true, hostPID: true }, "host namespaces (hostNetwork=true, hostPID=true)"],
  [
    { containers: [container({ privileged: true }), { ...container({ privileged: true }), name: "two" }] },
    'privileged (containers "main", "two" must not set securityContext.privileged=true)',
  ],
  [
    { containers: [container({ capabilities: { add: ["SYS_ADMIN", "NET_ADMIN", "CHOWN"] } })] },
    'non-default capabilities (container "main" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)',
  ],
  [{ ...plain, volumes: [{ name: "v", hostPath: { path: "/etc" } }] }, 'hostPath volumes (volume "v")'],
  [
    { containers: [{ ...container(), ports: [80, 81].map((port) => ({ containerPort: port, hostPort: port })) }] },
    'hostPort (container "main" uses hostPorts 80, 81)',
  ],
  [
    { containers: [{ ...container(), livenessProbe: { httpGet: { host: "10.0.0.1", port: 80 } } }] },
    'probe or lifecycle host (container "main" uses probe or lifecycle host "10.0.0.1")',
  ],
  [
    { hostUsers: false, containers: [container({ procMount: "Unmasked" })] },
    'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
  ],
  [
    { ...plain, securityContext: { seccompProfile: { type: "Unconfined" } } },
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  [
    { containers: [container({ appArmorProfile: { type: "Unconfined" } })] },
    'forbidden AppArmor profile (container "main" must not set AppArmor profile type to "Unconfined")',
  ],
  [
    { ...plain, securityContext: { seLinuxOptions: { type: "spc_t", user: "u", role: "r" } } },
    'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
  ],
  [
    { ...plain, securityContext: { sysctls: ["kernel.msgmax", "net.ipv4.tcp_syncookies"].map(sysctl) } },
    "forbidden sysctls (kernel.msgmax)",
  ],
  [
    { ...plain, hostNetwork: true, securityContext: { windowsOptions: { hostProcess: true } } },
    "host namespaces (hostNetwork=true), hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
  ],
  [
    {
      ...plain,
      initContainers: [{ ...container({ privileged: true, capabilities: { add: ["BPF"] } }), name: "init" }],
    },
    'non-default capabilities (container "init" must not include "BPF" in securityContext.capabilities.add), privileged (container "init" must not set securityContext.privileged=true)',
  ],
];

function container(securityContext: object = {}) {
  return { name: "main", image: "nowhere.example/web:1", securityContext };
}

function sysctl(name: string) {
  return { name, value: "1" };
}
