/**
 * How soon many host names have their routes, and how soon a change is in one: the hostname operator as the program that it
 * is, and the cluster of the box in another process, over HTTP.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../test/support/eventually.ts";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import { claimPort } from "../test/support/redis-server.ts";
import type { Command, Report } from "./names-box.ts";
import { nextMessage, startChild } from "./processes.ts";
import { percentile, report, round, size } from "./report.ts";

const hostnames = size(5_000, 100);
const root = join(import.meta.dirname, "..");
/** There is no baseline, so the bars are absolute. */
const bars = { convergeS: ["≤", 60], changeP99Ms: ["≤", 500], requestsAtRest: ["≤", 0], rssMb: ["≤", 200] } as const;

export async function bench(): Promise<void> {
  await using owner = createOwner();
  const folder = temporaryFolder(owner);
  const box = startBox(owner, folder);
  const { kubeconfig } = await box.ready;

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
    { what: "every name has its route, s from the start of the process", seen: convergeS },
    { what: "a change is in a route, ms, median", seen: round(percentile(latenciesMs, 0.5), 1) },
    { what: "a change is in a route, ms, p99", seen: changeP99Ms },
    { what: "requests at rest", seen: requests.length },
    { what: "memory when all are there, MB", seen: before.now },
    { what: "most memory, MB", seen: memory.most },
  ];
  for (const request of requests.slice(0, 5)) console.error(`at rest: ${request}`);
  const figures = { hostnames, convergeS, changeP99Ms, requestsAtRest: requests.length, rssMb: memory.most };
  report(`names: ${hostnames} host names, the cluster in another process`, rows, { bench: "names", ...figures }, bars);
}

function startBox(owner: Owner, folder: string) {
  const child = startChild(owner, "names-box.ts", folder, `${hostnames}`);
  return {
    ready: nextMessage<Report, "ready">(child, "ready"),
    ask<What extends Report["what"]>(what: Command["what"], answer: What) {
      child.send({ what } satisfies Command);
      return nextMessage<Report, What>(child, answer);
    },
  };
}

async function startOperator(owner: Owner, kubeconfig: string): Promise<ChildProcess> {
  const ports = ["--rest-port", `${await claimPort(owner)}`, "--grpc-port", `${await claimPort(owner)}`];
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
