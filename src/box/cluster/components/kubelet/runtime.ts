/** What one can do with a container that runs: read its log, run a command in it, speak to its port. */

import type { Duplex } from "node:stream";
import type { KubeObject, ProxyAnswer } from "../../../../kube/kube.ts";
import { readAllAmounts, wholeAmount } from "../../../../kube/pod-requests.ts";
import { type Clock, sleep } from "../../../../runtime/clock.ts";
import { endedBy } from "../../../../runtime/ended-by.ts";
import { StatusError } from "../../api-server/objects/status-error.ts";
import type { Container } from "../shapes/pod.ts";
import { containerLog } from "./container-log.ts";
import type { ContainerRun, Life } from "./container-run.ts";
import type { Kubelets } from "./kubelet.ts";
import type { ContainerUsage, ExecStreams, PodRequest, PodRuntime, TerminalSize } from "./pod-runtime.ts";
import { createProcesses, Killed, type Processes } from "./processes.ts";
import { runProgram } from "./shell.ts";

export function createPodRuntime(kubelets: Kubelets, clock: Clock, measuredAfterMs = 0): PodRuntime {
  /** Of each life of a container; they end with it. */
  const processesIn = new WeakMap<Life, Processes>();
  const source = { clock, wallMs: kubelets.wallMs, onEnd: kubelets.onEnd };

  function containerOf(object: KubeObject, name: string): ContainerRun | undefined {
    return kubelets.runOf(object.metadata.uid ?? "")?.containers.find(({ container }) => container.name === name);
  }

  function lifeOf(object: KubeObject, name: string, previous: boolean): Life {
    const pod = object.metadata.name;
    const run = containerOf(object, name);
    // Of one that waits to be started again, both are the one that ended last.
    const before = run?.shown.waiting ? run.life : run?.previousLife;
    if (run?.life && previous && !before) {
      throw new StatusError(400, "BadRequest", `previous terminated container "${name}" in pod "${pod}" not found`);
    }
    const life = previous ? before : run?.life;
    if (life) return life;
    const reason = run?.shown.waiting?.reason ?? "ContainerCreating";
    throw new StatusError(400, "BadRequest", `container "${name}" in pod "${pod}" is waiting to start: ${reason}`);
  }

  function runningOf(object: KubeObject, name: string): Life {
    const { stage, life } = containerOf(object, name) ?? {};
    if (stage === "running" && life) return life;
    throw new StatusError(500, "InternalError", `unable to upgrade connection: container not found ("${name}")`);
  }

  function processesOf(life: Life): Processes {
    const processes = processesIn.get(life) ?? createProcesses();
    processesIn.set(life, processes);
    return processes;
  }

  async function exec(object: KubeObject, name: string, command: readonly string[], streams: ExecStreams) {
    const life = runningOf(object, name);
    const processes = processesOf(life);
    const process = processes.start(command);
    const stopWaiting = kubelets.onEnd(life, () => process.kill(9));
    let size: TerminalSize | undefined;
    streams.onResize((next) => {
      size = next;
    });
    const seat = {
      ...{ ...streams, signal: process.signal, process, processes, size: () => size },
      surroundings: surroundingsOf(object, containerOf(object, name)),
      isTerminal: streams.stdout === streams.stderr,
      sleep: (ms: number, signal: AbortSignal) => sleep(clock, ms, signal),
    };
    try {
      // One that waits for input hears nothing of a signal, so it is left.
      const ended = await endedBy(runProgram(command, seat), process.signal);
      if (typeof ended === "number") return ended;
      throw notStarted(command[0] ?? "", ended);
    } catch (thrown) {
      if (thrown instanceof Killed) return thrown.exitCode;
      throw thrown;
    } finally {
      process.gone();
      stopWaiting();
    }
  }

  function listeningAt(object: KubeObject, port: number): ContainerRun | undefined {
    const { containers = [] } = kubelets.runOf(object.metadata.uid ?? "") ?? {};
    return containers.find((container) => container.stage === "running" && listens(container, port));
  }

  function connect(object: KubeObject, port: number): Duplex {
    const connection = listeningAt(object, port)?.life?.behaviour.connect?.(port);
    if (connection) return connection;
    throw new StatusError(500, "InternalError", `dial tcp4 127.0.0.1:${port}: connect: connection refused`);
  }

  async function http(object: KubeObject, port: number, request: PodRequest): Promise<ProxyAnswer> {
    const run = kubelets.runOf(object.metadata.uid ?? "");
    const listening = listeningAt(object, port);
    if (!listening) {
      const message = `error trying to reach service: dial tcp ${run?.ip ?? ""}:${port}: connect: connection refused`;
      throw new StatusError(503, "ServiceUnavailable", message);
    }
    const { status = 200, body = `${object.metadata.name}\n` } = listening.life?.behaviour.http?.(request) ?? {};
    return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: Buffer.from(body) };
  }

  function usage(object: KubeObject): readonly ContainerUsage[] {
    const { containers = [] } = kubelets.runOf(object.metadata.uid ?? "") ?? {};
    const measuredMs = clock.monotonicMs() - measuredAfterMs;
    const lives = containers.flatMap(({ container, stage, life }) =>
      stage === "running" && life && life.startedMs <= measuredMs ? [{ container, life }] : [],
    );
    return lives.length < containers.length ? [] : lives.map(usageOf);
  }

  return {
    usage,
    logs: (pod, container, { previous }) => containerLog(lifeOf(pod, container, previous), source),
    exec,
    http,
    connect,
  };
}

function surroundingsOf(object: KubeObject, run: ContainerRun | undefined) {
  const variables = (run?.container["env"] ?? []) as readonly { readonly name: string; readonly value?: string }[];
  const environment = Object.fromEntries(variables.map(({ name, value = "" }) => [name, value]));
  return { host: object.metadata.name, image: run?.container.image ?? "", environment };
}

/** So many hundredths of its requests. */
function usageOf({ container, life }: { readonly container: Container; readonly life: Life }): ContainerUsage {
  const { name, resources } = container;
  if (life.behaviour.uses) return { name, ...life.behaviour.uses };
  const requested = readAllAmounts(resources?.requests, "a container's requests");
  const hundredths = 10n + (BigInt(`0x${life.id.slice(-4)}`) % 60n);
  const part = (resource: string) => ((requested.get(resource) ?? 0n) * hundredths) / 100n;
  return { name, cpuNano: part("cpu"), memoryBytes: wholeAmount("memory", part("memory")) };
}

function notStarted(program: string, why: "missing" | "denied"): StatusError {
  const missing = program.includes("/")
    ? `stat ${program}: no such file or directory`
    : "executable file not found in $PATH";
  const words = `exec: "${program}": ${why === "missing" ? missing : "permission denied"}: unknown`;
  const failed = "OCI runtime exec failed: exec failed: unable to start container process";
  return new StatusError(500, "InternalError", `${failed}: ${words}`);
}

/** On the ports that it declares; one that declares none but answers does so on any. */
function listens({ container: { ports = [] }, life }: ContainerRun, port: number): boolean {
  if (ports.length === 0) return life?.behaviour.http !== undefined;
  return ports.some(({ containerPort }) => containerPort === port);
}
