/** Brings the lab up, takes it down, says how it is. Each may be called at any time, whatever state things are in. */
import { realClock, sleep } from "../src/runtime/clock.ts";
import { callApi } from "./api.ts";
import { buildKube, isBuilt } from "./build.ts";
import { endPods } from "./cgroups.ts";
import type { Component } from "./component.ts";
import { controlPlane } from "./control-plane.ts";
import { prepareHost, restoreHost } from "./host.ts";
import { importImages } from "./images.ts";
import { obstacles } from "./machine.ts";
import { node } from "./node.ts";
import { nodeName, places } from "./places.ts";
import { lastLines, logFile, running, runsAs, start, stop, stopShims } from "./processes.ts";
import { say } from "./say.ts";
import { makeSecrets } from "./secrets.ts";

/** In the order they start; they stop in reverse. What the lab gains later is added here. */
const components: readonly Component[] = [...controlPlane, ...node];

/** An API server on a busy machine takes half of this. */
const readyWithinMs = 90_000;

export interface Status {
  readonly components: readonly { readonly name: string; readonly pid: number | undefined; readonly ready: boolean }[];
  readonly nodeReady: boolean;
  /** All of the above. */
  readonly up: boolean;
}

export async function up(): Promise<void> {
  const problems = obstacles(isBuilt());
  if (problems.length > 0) throw new Error(`this machine cannot run the lab:\n  - ${problems.join("\n  - ")}`);
  await buildKube();
  prepareHost();
  makeSecrets();
  for (const component of components) await ensure(component);
  importImages();
  await waitFor("the node to be ready", nodeIsReady, "kubelet");
  say(`the lab is up: export KUBECONFIG=${places.kubeconfig}`);
}

export async function down(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("only root can take the lab down");
  for (const component of [...components].reverse()) await stop(component.name);
  await endPods();
  await stopShims();
  await restoreHost();
  say("the lab is down");
}

export async function status(): Promise<Status> {
  const rows = await Promise.all(
    components.map(async (component) => {
      const pid = running(component.name);
      return { name: component.name, pid, ready: pid !== undefined && (await component.ready()) };
    }),
  );
  const nodeReady = rows.every((row) => row.ready) && (await nodeIsReady());
  return { components: rows, nodeReady, up: nodeReady };
}

async function ensure(component: Component): Promise<void> {
  component.prepare?.();
  const command = component.command();
  if (!runsAs(component.name, command)) {
    await stop(component.name);
    start(component.name, command);
  }
  const startedMs = realClock.monotonicMs();
  await waitFor(`${component.name} to be ready`, component.ready, component.name);
  say(`${component.name} is ready (${((realClock.monotonicMs() - startedMs) / 1000).toFixed(1)} s)`);
}

async function waitFor(what: string, look: () => Promise<boolean>, culprit: string): Promise<void> {
  const deadlineMs = realClock.monotonicMs() + readyWithinMs;
  while (!(await look())) {
    const dead = running(culprit) === undefined;
    if (dead || realClock.monotonicMs() > deadlineMs) {
      const why = dead ? "it ended" : `it took more than ${readyWithinMs / 1000} s`;
      throw new Error(`waited for ${what}, but ${why}; ${logFile(culprit)} ends with:\n${lastLines(culprit, 15)}`);
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
