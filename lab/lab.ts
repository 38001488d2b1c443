/** Brings the lab up, takes it down, says how it is. Each may be called at any time, whatever state things are in. */
import { realClock, sleep } from "../src/runtime/clock.ts";
import { type Addon, describe, install, isAvailable } from "./addon.ts";
import { callApi } from "./api.ts";
import { buildProgram, isBuilt } from "./build.ts";
import { endPods } from "./cgroups.ts";
import type { Component } from "./component.ts";
import { controlPlane } from "./control-plane.ts";
import { coredns } from "./coredns/addon.ts";
import { prepareHost, restoreHost } from "./host.ts";
import { importImages } from "./images.ts";
import { kwok } from "./kwok/component.ts";
import { leftovers } from "./leftovers.ts";
import { provisioner } from "./local-path-provisioner/addon.ts";
import { alone } from "./lock.ts";
import { obstacles } from "./machine.ts";
import { metricsServer } from "./metrics-server/addon.ts";
import { clean, networkPolicy } from "./network-policy/component.ts";
import { node } from "./node.ts";
import { nodeName, places } from "./places.ts";
import { lastLines, logFile, running, runsAs, start, stop, stopShims } from "./processes.ts";
import type { ProgramName } from "./programs.ts";
import { redis } from "./redis.ts";
import { say } from "./say.ts";
import { makeSecrets } from "./secrets.ts";
import { traefik } from "./traefik/addon.ts";

const builds: readonly ProgramName[] = [
  "kube",
  "kwok",
  "coredns",
  "grpc-client",
  "local-path-provisioner",
  "metrics-server",
  "network-policy",
  "traefik",
  "pebble",
];

/** In the order they start; they stop in reverse. */
const components: readonly Component[] = [...controlPlane, ...node, networkPolicy, kwok, redis];

const addons: readonly Addon[] = [coredns, provisioner, metricsServer, traefik];

/** An API server on a busy machine takes half of this. */
const readyWithinMs = 90_000;

export interface Status {
  readonly components: readonly { readonly name: string; readonly pid: number | undefined; readonly ready: boolean }[];
  readonly addons: readonly { readonly name: string; readonly ready: boolean }[];
  readonly nodeReady: boolean;
  /** All of the above. */
  readonly up: boolean;
}

export async function up(): Promise<void> {
  const problems = obstacles(builds.every(isBuilt));
  if (problems.length > 0) throw new Error(`this machine cannot run the lab:\n  - ${problems.join("\n  - ")}`);
  await build();
  await alone(async () => {
    prepareHost();
    makeSecrets();
    for (const component of components) await ensure(component);
    for (const name of importImages().imported) say(`imported ${name}`);
    await waitFor("the node to be ready", nodeIsReady, logOf("kubelet"));
    for (const addon of addons) await install(addon);
    for (const addon of addons) {
      await waitFor(`${addon.name} to be ready`, () => isAvailable(addon), { tail: () => describe(addon) });
      say(`${addon.name} is ready`);
    }
  });
  say(`the lab is up: export KUBECONFIG=${places.kubeconfig}`);
}

/** One after the other: each build uses every core there is. */
export async function build(): Promise<void> {
  await alone(async () => {
    for (const name of builds) await buildProgram(name);
  });
}

export async function down(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("only root can take the lab down");
  await alone(async () => {
    for (const component of [...components].reverse()) await stop(component.name);
    await endPods();
    await stopShims();
    clean();
    await restoreHost();
    const left = leftovers();
    if (left.length > 0) throw new Error(`the lab left something behind:\n  - ${left.join("\n  - ")}`);
  });
  say("the lab is down");
}

export async function status(): Promise<Status> {
  const rows = await Promise.all(
    components.map(async (component) => {
      const pid = running(component.name);
      return { name: component.name, pid, ready: pid !== undefined && (await component.ready()) };
    }),
  );
  const started = rows.every((row) => row.ready);
  const nodeReady = started && (await nodeIsReady());
  const pods = await Promise.all(
    addons.map(async (addon) => ({ name: addon.name, ready: started && (await isAvailable(addon)) })),
  );
  return { components: rows, addons: pods, nodeReady, up: nodeReady && pods.every(({ ready }) => ready) };
}

async function ensure(component: Component): Promise<void> {
  component.prepare?.();
  const command = component.command();
  if (!runsAs(component.name, command)) {
    await stop(component.name);
    start(component.name, command);
  }
  const startedMs = realClock.monotonicMs();
  await waitFor(`${component.name} to be ready`, component.ready, logOf(component.name));
  say(`${component.name} is ready (${((realClock.monotonicMs() - startedMs) / 1000).toFixed(1)} s)`);
}

/** The message about a component that does not become ready, and whether to wait on. */
interface Evidence {
  ended?(): boolean;
  tail(): string | Promise<string>;
}

function logOf(name: string): Evidence {
  const tail = () => `${logFile(name)} ends with:\n${lastLines(name, 15)}`;
  return { ended: () => running(name) === undefined, tail };
}

async function waitFor(what: string, look: () => Promise<boolean>, evidence: Evidence): Promise<void> {
  const deadlineMs = realClock.monotonicMs() + readyWithinMs;
  while (!(await look())) {
    const ended = evidence.ended?.() ?? false;
    if (ended || realClock.monotonicMs() > deadlineMs) {
      const why = ended ? "it ended" : `it took more than ${readyWithinMs / 1000} s`;
      throw new Error(`waited for ${what}, but ${why}; ${await evidence.tail()}`);
    }
    await sleep(realClock, 100);
  }
}

async function nodeIsReady(): Promise<boolean> {
  const answer = await callApi(`/api/v1/nodes/${nodeName}`);
  if (answer.status !== 200) return false;
  const object = JSON.parse(answer.body) as { status?: { conditions?: { type: string; status: string }[] } };
  return object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
