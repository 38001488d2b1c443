/** The lab as tests see it: whether it is there, a namespace of one's own, pods real and fake, kubectl. */
import { randomBytes } from "node:crypto";
import { callApi } from "../../lab/api.ts";
import { kubectl as runKubectl } from "../../lab/kubectl.ts";
import { fakeNode } from "../../lab/kwok/component.ts";
import { status } from "../../lab/lab.ts";
import { takeTurn } from "../../lab/lock.ts";
import { eventually } from "../support/eventually.ts";

/** Why the lab's tests cannot run, or false. In CI nothing is skipped: there a missing lab makes the tests fail. */
export const labIsMissing: string | false =
  (await status()).up || process.env["CI"] ? false : "the lab is down: npm run lab -- up";

/** Pulling nothing and starting busybox takes two seconds; a busy machine takes longer. */
export const podStartsWithinMs = 60_000;

/** A test, or a file of them. */
interface Owner {
  after(end: () => Promise<void>): void;
}

/** A namespace that goes away after the test, and everything in it. */
export async function temporaryNamespace(t: Owner): Promise<string> {
  const name = randomName();
  await create("/api/v1/namespaces", { metadata: { name } });
  t.after(() => removeNamespace(name));
  return name;
}

/** Its end takes five seconds and more, which no test waits for. */
export async function removeNamespace(name: string): Promise<void> {
  const { status, body } = await callApi(`/api/v1/namespaces/${name}`, "DELETE");
  if (status !== 200 && status !== 404) throw new Error(`DELETE namespace ${name}: ${status} ${body}`);
}

export async function create(path: string, object: object): Promise<void> {
  const answer = await callApi(path, "POST", object);
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
}

export async function read<T>(path: string): Promise<T> {
  const answer = await callApi(path);
  if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body) as T;
}

export async function kubectl(...args: string[]): Promise<string> {
  return runKubectl(args);
}

export interface PodOptions {
  readonly image: string;
  /** Overrides the image's entry point. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly resources?: { readonly limits: Readonly<Record<string, string>> };
  /** Where each claim of the pod's namespace is mounted. */
  readonly claims?: Readonly<Record<string, string>>;
  /** Assigned directly, without the scheduler. */
  readonly nodeName?: string;
}

/** The label `app` of a pod is its name. */
export async function createPod(namespace: string, name: string, wishes: PodOptions): Promise<void> {
  const { claims = {}, nodeName, ...container } = wishes;
  const volumes = Object.keys(claims).map((claim) => ({ name: claim, persistentVolumeClaim: { claimName: claim } }));
  const volumeMounts = Object.entries(claims).map(([claim, mountPath]) => ({ name: claim, mountPath }));
  const containers = [{ name: "main", ...container, volumeMounts }];
  // A second to end in: the shell's trap needs none, and tests should not wait for thirty.
  const spec = { containers, volumes, nodeName, terminationGracePeriodSeconds: 1, restartPolicy: "OnFailure" };
  // The namespace's service account comes a moment after the namespace, and no pod may be made without it.
  await eventually("the pod to be accepted", async () => {
    await create(`/api/v1/namespaces/${namespace}/pods`, { metadata: { name, labels: { app: name } }, spec });
    return true;
  });
}

/** Waits until its containers are ready. */
export async function runPod(namespace: string, name: string, wishes: PodOptions): Promise<void> {
  await createPod(namespace, name, wishes);
  await eventually(
    `${name} to be ready`,
    async () => hasCondition(await read(`/api/v1/namespaces/${namespace}/pods/${name}`), "Ready"),
    podStartsWithinMs,
  );
}

/** Output of a pod that runs to completion. */
export async function outputOf(namespace: string, name: string, wishes: PodOptions): Promise<string> {
  await createPod(namespace, name, wishes);
  const pod = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const hasEnded = async () => (await read<{ status: { phase: string } }>(pod)).status.phase === "Succeeded";
  await eventually(`${name} to end well`, hasEnded, podStartsWithinMs);
  return (await callApi(`${pod}/log`)).body;
}

/** Output of a command in a pod's container. */
export function execute(namespace: string, pod: string, ...command: string[]): Promise<string> {
  return kubectl("exec", "-n", namespace, pod, "--", ...command);
}

/** Nodes without machines, deleted after the test. Their taint keeps real pods away. */
export async function fakeNodes(t: Owner, count: number): Promise<string[]> {
  const prefix = randomName();
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const labels = { "akash-provider-lab/fake": prefix };
  t.after(async () => void (await kubectl("delete", "node", "-l", `akash-provider-lab/fake=${prefix}`)));
  const size = { cpu: "32", memory: "256Gi", pods: "110", "ephemeral-storage": "1Ti" };
  for (const name of names) {
    await create("/api/v1/nodes", {
      metadata: { name, labels, annotations: { [fakeNode.key]: fakeNode.value } },
      spec: { taints: [{ ...fakeNode, effect: "NoSchedule" }] },
      status: { allocatable: size, capacity: size },
    });
  }
  const areReady = async () => {
    const nodes = await Promise.all(names.map((name) => read<WithConditions>(`/api/v1/nodes/${name}`)));
    return nodes.every((node) => hasCondition(node, "Ready"));
  };
  await eventually("the fake nodes to be ready", areReady);
  return names;
}

interface WithConditions {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function hasCondition({ status }: WithConditions, wanted: string): boolean {
  return status.conditions?.some((condition) => condition.type === wanted && condition.status === "True") ?? false;
}

function randomName(): string {
  return `test-${randomBytes(4).toString("hex")}`;
}

const nodeUsers = ["adoption", "history", "isolation", "lease"] as const;

/** For tests of leases, which may run concurrently while the node's offer does not change. Returns the release function. */
export function shareNode(user: (typeof nodeUsers)[number]): Promise<() => void> {
  return takeTurn(`lab-node-${user}`);
}

/** For tests that change the node's offer: exclusive. */
export async function takeNode(): Promise<() => void> {
  const ends: (() => void)[] = [];
  for (const user of nodeUsers) ends.push(await shareNode(user));
  return () => {
    for (const end of ends) end();
  };
}

/** For tests that run a hostname operator: it deletes every route of a lease that it does not know. */
export function takeRoutes(): Promise<() => void> {
  return takeTurn("lab-routes");
}

/** For tests that install MetalLB and remove it. */
export function takeMetalLb(): Promise<() => void> {
  return takeTurn("lab-metallb");
}
