/** Files that kubelet, containerd and CNI leave outside the lab's folder whatever their settings. */
import { existsSync, globSync, readdirSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "./files.ts";
import { places } from "./places.ts";

const kubeletSockets = "/var/lib/kubelet/device-plugins";
const containerLogs = "/var/log/containers";
const cniResults = "/var/lib/cni/results";
const shimSockets = "/run/containerd/s";

/** Children before parents, as they are removed. */
const folders = [
  ...[kubeletSockets, "/var/lib/kubelet"],
  ...[containerLogs],
  ...[cniResults, "/var/lib/cni"],
  ...[shimSockets, "/run/containerd"],
];

/** Those that only the lab will have made. */
export function absentFolders(): string[] {
  return folders.filter((path) => !existsSync(path));
}

/** Removes what is known to be the lab's, and `absent` folders if they are not used otherwise by now. */
export function removeStrays(absent: readonly string[]): void {
  if (absent.includes(kubeletSockets)) rmSync(join(kubeletSockets, "kubelet.sock"), { force: true });
  for (const file of [...logLinks(), ...networkResults(), ...shimAddresses()]) rmSync(file, { force: true });
  for (const folder of folders.filter((path) => absent.includes(path))) {
    if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

function logLinks(): string[] {
  return globSync(`${containerLogs}/*.log`).filter((link) => readlinkSync(link).startsWith(places.podLogs));
}

/** A result names the pod's network namespace, which lies in the lab's folder. */
function networkResults(): string[] {
  return globSync(`${cniResults}/*`).filter((file) => readIfThere(file)?.includes(places.state));
}

/** Each shim notes in its container's folder where it listens. */
function shimAddresses(): string[] {
  return globSync(`${places.state}/containerd-run/io.containerd.runtime.v2.task/*/*/address`)
    .map((note) => (readIfThere(note) ?? "").trim().replace(/^unix:\/\//, ""))
    .filter((address) => address.startsWith(`${shimSockets}/`));
}
