/** The isolation of tenants, one test for each property: leases of the provider on a real cluster. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { after, describe, it } from "node:test";
import { shellImage, webImage } from "../../lab/images.ts";
import { network, places } from "../../lab/places.ts";
import { logFile } from "../../lab/processes.ts";
import { admittedControllers, watchNetwork, watchNodes } from "../../src/cluster/leases/watched-network.ts";
import { fieldsOf, recordsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { PolicySettings } from "../../src/kube/objects/network-policies.ts";
import { noOvercommit } from "../../src/market/fit.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { eventually } from "../support/eventually.ts";
import { rejection } from "../support/kube/kube-objects.ts";
import { createCalls } from "./calls.ts";
import { labIsMissing, shareNode, temporaryNamespace } from "./cluster.ts";
import { runLease } from "./lab-lease.ts";
import { openKube } from "./open-kube.ts";
import { type PodAt, runPod } from "./pods.ts";

const kube = openKube({ after }, places.kubeconfig);
const { becomes, call, lookUp, output } = createCalls(kube);
const host = `web-${randomBytes(4).toString("hex")}.lab.invalid`;
/** An unused address without a route: the lab answers "unreachable". */
const internet = "192.0.2.1";
const mebi = 2 ** 20;

/** A page, a shell that calls, a public port beside one that is not, and a service that may read its own logs. */
const sdl = `
version: "2.0"
services:
  web:
    image: ${webImage}
    expose: [{ port: 8080, as: 80, accept: ["${host}"], to: [{ global: true }] }]
  shell:
    image: ${shellImage}
    expose: [{ port: 9000, to: [{ service: web }] }]
  game:
    image: ${webImage}
    command: [/bin/sh, -c]
    args: ["trap 'exit 0' TERM; httpd -p 8081 -h /www; httpd -f -p 7777 -h /www & wait $!"]
    expose: [{ port: 7777, to: [{ global: true }] }, { port: 8081, to: [{ service: web }] }]
  reader:
    image: ${shellImage}
    expose: [{ port: 9000, to: [{ service: web }] }]
    params: { permissions: { read: [logs] } }
profiles:
  compute:
    small: { resources: { cpu: { units: 0.1 }, memory: { size: 32Mi }, storage: [{ size: 64Mi }] } }
  placement:
    lab: { pricing: { small: { denom: uact, amount: 1 } } }
deployment: { ${["web", "shell", "game", "reader"].map((name) => `${name}: { lab: { profile: small, count: 1 } }`).join(", ")} }
`;

describe("a lease on the lab", { skip: labIsMissing }, async () => {
  if (labIsMissing) return;
  const endTurn = await shareNode("isolation");
  const policies = await policiesOfTheLab();
  const overcommit = noOvercommit;
  const settings = { overcommit, clusterPublicHostname: "lab.invalid", policies };
  const [ours, theirs] = await Promise.all([runLease(kube, sdl, settings), runLease(kube, sdl, settings)]);
  // Together: each takes some seconds.
  after(async () => {
    await Promise.all([ours.end(), theirs.end()]);
    endTurn();
  });
  const outsider: PodAt = { namespace: await temporaryNamespace({ after }), name: "outsider" };
  await runPod(kube, outsider, { image: shellImage });
  const [shell, otherTenant, reader] = await Promise.all([ours.at("shell"), theirs.at("shell"), ours.at("reader")]);

  const shellIp = await ours.ip("shell");
  const guardsLog = () => readFileSync(logFile("network-policy"), "utf8");
  // An earlier pod may have had the address.
  const before = guardsLog().length;
  /** Whether the lab's network policy log shows that a policy rejected the shell's connection. */
  const isRejected = (where: string) => guardsLog().includes(`refused ${shellIp} → ${where} TCP`, before);
  const wasRejected = (where: string) => eventually(`the rejection of ${where}`, () => isRejected(where));

  it("cannot be reached from another tenant by address, Service, name or public port of the node", async () => {
    const { clusterIP } = await ours.service("web");
    const name = `web.${ours.namespace}.svc.cluster.local`;
    for (const where of [`${await ours.ip("web")}:8080`, clusterIP, name]) {
      await becomes(shell, where, "answer");
      assert.equal(await call(otherTenant, where), "silence", where);
      assert.equal(await call(outsider, where), "silence", where);
    }
    const { ports } = await ours.service("game-np");
    const nodePort = `${network.node}:${ports[0]?.["nodePort"]}`;
    await becomes(outsider, nodePort, "answer");
    assert.equal(await call(otherTenant, nodePort), "silence");
  });

  it("reaches all of itself, whatever it has exposed", async () => {
    for (const where of ["web", "game:8081", `${await ours.ip("web")}:8080`, `${await ours.ip("game")}:8081`]) {
      await becomes(shell, where, "answer");
    }
    // Nothing listens there: the pod itself says so.
    await becomes(shell, `${await ours.ip("web")}:1`, "refused");
  });

  it("is open to the world at its public ports and nowhere else", async () => {
    const ip = await ours.ip("game");
    await becomes(outsider, `${ip}:7777`, "answer");
    assert.equal(await call(outsider, `${ip}:8081`), "silence");
  });

  it("gets requests from the ingress controller", async () => {
    const backend = { service: { name: "web", port: { number: 80 } } };
    await kube.apply(kinds.ingress, {
      metadata: { namespace: ours.namespace, name: "web" },
      spec: {
        ingressClassName: "traefik",
        rules: [{ host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
      },
    });
    await eventually("the page", async () => (await pageOf(host)).includes("hello from the lab"));
  });

  it("has no way to the node, whatever listens there", async () => {
    for (const port of [network.apiPort, network.redisPort, network.etcdPort]) {
      assert.equal(await call(shell, `${network.node}:${port}`), "silence");
    }
    await becomes(outsider, `${network.node}:${network.redisPort}`, "answer");
  });

  it("has no way to pods and Services of the cluster", async () => {
    assert.equal(await call(shell, `${network.apiService}:443`), "silence");
    await becomes(outsider, `${network.apiService}:443`, "answer");
    assert.equal(await call(shell, network.ingress), "silence");
    await becomes(outsider, network.ingress, "answer");
    const { podIP } = fieldsOf((await kube.get(kinds.pod, outsider))?.["status"]);
    assert.equal(await call(shell, `${podIP}:8080`), "silence");
  });

  it("has no way to the metadata of a cloud", async () => {
    for (const address of ["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192"]) {
      assert.equal(await call(shell, address), "silence", address);
      await wasRejected(`${address}:80`);
    }
  });

  it("reaches the internet, but for what the operator has closed", async () => {
    await becomes(shell, internet, "refused");
    const facts = { ...policies.facts, ranges: [`${internet}/32`] };
    await ours.setPolicies({ ...policies, facts });
    // Silence alone proves nothing here: the lab says only now and then that it has no way there.
    await eventually("the policy", async () => (await call(shell, internet)) && isRejected(`${internet}:80`));
    await ours.setPolicies(policies);
    await becomes(shell, internet, "refused");
  });

  it("finds names", async () => {
    await eventually("the name", async () => (await lookUp(shell)).includes(network.apiService));
    // Of a name server on the node. In the lab: connection refused; all else there is closed.
    await becomes(shell, "169.254.20.10:53", "refused");
    for (const closed of ["169.254.20.10:80", "169.254.169.254:53"]) {
      assert.equal(await call(shell, closed), "silence");
      await wasRejected(closed);
    }
  });

  it("has no token of the cluster, and runs as the account of its namespace that has no rights", async () => {
    for (const service of ["web", "shell", "game"]) {
      const { serviceAccountName, volumes } = fieldsOf((await ours.pod(service))["spec"]);
      assert.equal(serviceAccountName, "default");
      assert.deepEqual(recordsOf(volumes), []);
    }
    assert.equal(await output(shell, ["sh", "-c", "ls /var/run/secrets 2>/dev/null || echo none"]), "none\n");
  });

  it("reaches the API server if its SDL has permissions, and may do only what they grant", async () => {
    await becomes(reader, `${network.apiService}:443`, "answer");
    assert.equal(await call(reader, `${network.node}:${network.redisPort}`), "silence");
    const mayI = async (verb: string, resource: string, namespace: string) => {
      const review = { group: "authorization.k8s.io", version: "v1", kind: "LocalSubjectAccessReview" };
      const kind = { ...review, plural: "localsubjectaccessreviews", namespaced: true };
      const user = `system:serviceaccount:${ours.namespace}:reader`;
      const spec = { user, resourceAttributes: { verb, resource, namespace } };
      const made = await kube.create(kind, { metadata: { name: "", namespace }, spec });
      return fieldsOf(made["status"])["allowed"];
    };
    assert.equal(await mayI("list", "pods", ours.namespace), true);
    assert.equal(await mayI("list", "secrets", ours.namespace), false);
    assert.equal(await mayI("list", "pods", theirs.namespace), false);
  });

  it("cannot gain privileges, and its system calls are filtered", async () => {
    for (const service of ["web", "game", "reader"]) {
      const status = await output(await ours.at(service), ["cat", "/proc/1/status"]);
      assert.match(status, /^NoNewPrivs:\s+1$/m);
      assert.match(status, /^Seccomp:\s+2$/m);
    }
  });

  it("has a limit on everything", async () => {
    for (const service of ["web", "shell", "game", "reader"]) {
      const [container] = recordsOf(fieldsOf((await ours.pod(service))["spec"])["containers"]);
      const { limits } = fieldsOf(container?.["resources"]);
      assert.deepEqual(limits, { cpu: "100m", memory: `${32 * mebi}`, "ephemeral-storage": `${64 * mebi}` });
    }
    // As the kernel has it, in its second or first version of groups: 32 MiB, a tenth of a processor.
    const kernel = async (...files: string[]) => {
      const paths = files.map((file) => `/sys/fs/cgroup/${file}`).join(" ");
      return Number.parseInt(await output(shell, ["sh", "-c", `cat ${paths} 2>/dev/null`]), 10);
    };
    assert.equal(await kernel("memory.max", "memory/memory.limit_in_bytes"), 32 * mebi);
    assert.equal(await kernel("cpu.max", "cpu/cpu.cfs_quota_us"), 10_000);
  });

  it("pods with the rights of the node are rejected for any user", async () => {
    const container = { name: "main", image: shellImage };
    const pods = {
      privileged: { containers: [{ ...container, securityContext: { privileged: true } }] },
      "host-network": { containers: [container], hostNetwork: true },
      "host-path": { containers: [container], volumes: [{ name: "root", hostPath: { path: "/" } }] },
    };
    for (const [name, spec] of Object.entries(pods)) {
      const pod = { metadata: { namespace: ours.namespace, name }, spec };
      const error = await rejection(kube.create(kinds.pod, pod), "AKP_KUBE_FORBIDDEN");
      assert.match(error.message, /violates PodSecurity "baseline/);
    }
  });
});

/** As the provider would make them. */
async function policiesOfTheLab(): Promise<PolicySettings> {
  const admitted = admittedControllers([{ name: "ingress-nginx" }, { name: "traefik" }]);
  const nodes = watchNodes(kube);
  const settings = { enabled: true, admitted, closedRanges: [] };
  const watched = watchNetwork(settings, { kube, nodes, clock: realClock });
  await watched.synced();
  const policies = watched.policies();
  await Promise.all([watched.close(), nodes.cache.close()]);
  assert.deepEqual(policies.facts, { ranges: [], apiServer: [{ ip: network.node, port: network.apiPort }] });
  return policies;
}

/** `fetch` would not let us choose the Host header. */
function pageOf(name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = get(`http://${network.ingress}/`, { headers: { host: name }, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve(body)).on("error", reject);
    });
    sent.on("error", reject);
  });
}
