/** The cgroups of the lab's pods, and how to kill their processes. */
import { existsSync, globSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { readIfThere } from "./files.ts";
import { cgroup } from "./places.ts";
import { kill } from "./processes.ts";

/** The kernel lets go of an empty cgroup within milliseconds. */
const busyForMs = 10_000;

export function makeCgroups(): void {
  for (const root of cgroupRoots()) {
    const folder = join(root, cgroup);
    mkdirSync(folder, { recursive: true });
    // A new cpuset is empty, and nothing may run in an empty one.
    for (const name of ["cpuset.cpus", "cpuset.mems"]) {
      const all = readIfThere(join(root, name));
      if (all !== undefined) writeFileSync(join(folder, name), all);
    }
  }
}

/** Kills every process in the lab's cgroups: those of pods, also without a kubelet. */
export async function endPods(): Promise<void> {
  const pids = new Set<number>();
  for (const file of ourCgroups().map((folder) => join(folder, "cgroup.procs"))) {
    for (const pid of (readIfThere(file) ?? "").split("\n").filter(Boolean)) pids.add(Number(pid));
  }
  await Promise.all([...pids].map((pid) => kill(pid)));
}

export async function removeCgroups(): Promise<void> {
  for (const folder of ourCgroups().reverse()) {
    const deadlineMs = realClock.monotonicMs() + busyForMs;
    while (!removed(folder)) {
      if (realClock.monotonicMs() > deadlineMs)
        throw new Error(`${folder} is still busy: some process in it does not end`);
      await sleep(realClock, 50);
    }
  }
}

/** A cgroup is busy for a moment after its last process ended. */
function removed(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
    throw error;
  }
}

/** One per controller with the old cgroups, a single one with the new. */
function cgroupRoots(): string[] {
  const unified = "/sys/fs/cgroup";
  if (existsSync(join(unified, "cgroup.procs"))) return [unified];
  return globSync(`${unified}/*/cgroup.procs`).map(dirname);
}

/** Parents before children. */
export function ourCgroups(): string[] {
  return cgroupRoots()
    .flatMap((root) => [join(root, cgroup), ...globSync(`${join(root, cgroup)}/**/cgroup.procs`).map(dirname)])
    .filter((folder, index, all) => existsSync(folder) && all.indexOf(folder) === index)
    .sort();
}
