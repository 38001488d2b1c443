/** The lab's changes to the machine outside its own folder. `up` records the previous values, `down` restores them. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCgroups, removeCgroups } from "./cgroups.ts";
import { readIfThere, write } from "./files.ts";
import { needProgram } from "./machine.ts";
import { makeNetwork, removeNetwork } from "./network.ts";
import { places } from "./places.ts";
import { absentFolders, removeStrays } from "./strays.ts";

/** Kernel settings: forwarding is ours, the others are what a kubelet sets when it starts. */
const settings = [
  "net/ipv4/ip_forward",
  "vm/overcommit_memory",
  "vm/panic_on_oom",
  "kernel/panic",
  "kernel/panic_on_oops",
  "kernel/keys/root_maxkeys",
  "kernel/keys/root_maxbytes",
];

interface Before {
  readonly settings: Record<string, string>;
  /** Folders that were not there. */
  readonly absent: readonly string[];
}

const noteFile = join(places.state, "before.json");

export function prepareHost(): void {
  if (!existsSync(noteFile)) write(noteFile, lookAround());
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
  makeNetwork();
  makeCgroups();
}

/** Everything but the processes. No part minds if there is nothing to do, so a half-made lab goes away too. */
export async function restoreHost(): Promise<void> {
  unmountAll();
  await removeCgroups();
  removeNetwork();
  const note = readIfThere(noteFile);
  if (note) {
    const { settings, absent } = JSON.parse(note) as Before;
    for (const [name, value] of Object.entries(settings)) writeFileSync(`/proc/sys/${name}`, value);
    removeStrays(absent);
  }
  rmSync(places.state, { recursive: true, force: true });
}

function lookAround(): Before {
  const values: Record<string, string> = {};
  for (const name of settings) {
    const value = readIfThere(`/proc/sys/${name}`);
    if (value !== undefined) values[name] = value.trim();
  }
  return { settings: values, absent: absentFolders() };
}

function unmountAll(): void {
  // The deepest first.
  for (const point of mountPoints().reverse()) execFileSync(needProgram("umount"), ["--lazy", point]);
}

/** Mounts in the lab's folder. */
export function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${places.state}/`));
}
