/** Enforces network policies. The program beside this file judges connections; what it makes the kernel do is one table. */
import { execFileSync } from "node:child_process";
import { answers } from "../api.ts";
import { binaryOf } from "../build.ts";
import type { Component } from "../component.ts";
import { findProgram } from "../machine.ts";
import { network, nodeName } from "../places.ts";
import { kubeconfigOf } from "../secrets.ts";

const table = "akash-provider-lab-policy";
/** Any number that no other program of the machine listens on. */
const queue = 17230;
const health = "127.0.0.1:10262";

export const networkPolicy: Component = {
  name: "network-policy",
  command: () => ({
    program: binaryOf("network-policy"),
    args: [
      `--kubeconfig=${kubeconfigOf("network-policy")}`,
      `--node=${nodeName}`,
      `--pods=${network.firstPod}-${network.lastPod}`,
      `--table=${table}`,
      `--queue=${queue}`,
      `--health=${health}`,
    ],
  }),
  ready: () => answers(`http://${health}`),
};

/** Its rules outlive it, so that nothing passes while it restarts; this removes them, if there are any. */
export function clean(): void {
  const nft = findProgram("nft");
  // Without it there has been no lab here.
  if (!nft) return;
  // Deleting a table that is not there fails; adding one that is there does not.
  execFileSync(nft, ["-f", "-"], { input: `add table ip ${table}\ndelete table ip ${table}\n` });
}
