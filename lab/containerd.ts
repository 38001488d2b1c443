/** Talks to the lab's containerd through its own command-line client. */
import { spawnSync } from "node:child_process";
import { needProgram } from "./machine.ts";
import { places } from "./places.ts";

/** Kubernetes' containers and images live in this corner of containerd. */
const where = ["--address", places.containerdSocket, "--namespace", "k8s.io", "--connect-timeout", "2s"];

export function ctr(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(needProgram("ctr"), [...where, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`ctr ${args.join(" ")} failed: ${stderr.trim()}`);
  return stdout;
}

export function containerdAnswers(): boolean {
  return spawnSync(needProgram("ctr"), [...where, "version"], { stdio: "ignore" }).status === 0;
}
