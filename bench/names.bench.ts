/**
 * How soon many host names have their routes, and how soon a change is in one: the hostname operator as the program that it
 * is, and the cluster of the box in another process, over HTTP.
 */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../test/eventually.ts";
import { temporaryFolder } from "../test/folder.ts";
import { createOwner, type Owner } from "../test/owner.ts";
import { freePort } from "../test/redis-server.ts";
import type { Asked, Told } from "./names-box.ts";
import { nodeFlags } from "./node-flags.ts";
import { percentile } from "./percentile.ts";
import { report, round } from "./report.ts";

const hostnames = 5_000;
const root = join(import.meta.dirname, "..");

type Message<What extends Told["what"]> = Extract<Told, { readonly what: What }>;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = temporaryFolder(owner);
  const box = startBox(owner, folder);
  const { kubeconfig } = await box.next("ready");

  const beganMs = performance.now();
  const operator = await startOperator(owner, kubeconfig);
  const isRouted = async () => (await box.ask("routed", "routed")).hostnames === hostnames;
  const died = once(operator, "exit").then(() => Promise.reject(new Error("the operator ended by itself")));
  await Promise.race([eventually("every route", isRouted, 180_000), died]);
  // Its end is ours to bring from now on.
  died.catch(() => undefined);
  const convergeS = round((performance.now() - beganMs) / 1_000);
  const before = memoryOf(operator);
  const { latenciesMs } = await box.ask("change", "changed");
  const { requests } = await box.ask("rest", "rested");
  const memory = memoryOf(operator);
  const changeP99Ms = round(percentile(latenciesMs, 0.99), 1);
  const rows = [
    { what: "every name has its route, s from the start of the process", seen: convergeS, bar: "≤ 60" },
    { what: "a change is in a route, ms, median", seen: round(percentile(latenciesMs, 0.5), 1), bar: "" },
    { what: "a change is in a route, ms, p99", seen: changeP99Ms, bar: "≤ 500" },
    { what: "requests at rest", seen: requests.length, bar: "0" },
    { what: "memory when all are there, MB", seen: before.now, bar: "" },
    { what: "most memory, MB", seen: memory.most, bar: "< 200" },
  ];
  report(`names: ${hostnames} host names, the cluster in another process`, rows, {
    bench: "names",
    hostnames,
    convergeS,
    changeP99Ms,
    requestsAtRest: requests.length,
    rssMb: memory.most,
  });
  for (const request of requests.slice(0, 5)) console.error(`at rest: ${request}`);
  box.send({ what: "stop" });
}

function startBox(owner: Owner, folder: string) {
  const program = join(import.meta.dirname, "names-box.ts");
  const child = fork(program, [folder, `${hostnames}`], { execArgv: nodeFlags });
  owner.after(() => endOf(child));
  const arrived = new Map<Told["what"], Told>();
  child.on("message", (message: Told) => void arrived.set(message.what, message));
  const send = (asked: Asked) => void child.send(asked);
  async function next<What extends Told["what"]>(what: What): Promise<Message<What>> {
    const told = await eventually(`"${what}"`, () => arrived.get(what) as Message<What> | undefined, 180_000);
    arrived.delete(what);
    return told;
  }
  return {
    send,
    next,
    ask<What extends Told["what"]>(what: Asked["what"], answer: What): Promise<Message<What>> {
      send({ what });
      return next(answer);
    },
  };
}

async function startOperator(owner: Owner, kubeconfig: string): Promise<ChildProcess> {
  const ports = ["--rest-port", `${await freePort()}`, "--grpc-port", `${await freePort()}`];
  const settings = ["--kubeconfig", kubeconfig, "--rest-address", "127.0.0.1", ...ports];
  const child = spawn(join(root, "bin/akash-provider"), ["operator", "hostname", ...settings, "--log_level", "error"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  owner.after(() => endOf(child));
  return child;
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Of the whole process, in megabytes: what it has, and the most that it had. */
function memoryOf({ pid }: ChildProcess): { readonly now: number; readonly most: number } {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (name: string) => round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)?.[1] ?? 0) / 1_024, 1);
  return { now: mb("VmRSS"), most: mb("VmHWM") };
}
