/** `npm run lab -- COMMAND`: a real Kubernetes on this machine, for tests and for trying things. */
import { spawnSync } from "node:child_process";
import { callApi } from "./api.ts";
import { kubeBinary } from "./build.ts";
import { importImages } from "./images.ts";
import { kubectlEnvironment } from "./kubectl.ts";
import { build, down, status, up } from "./lab.ts";
import { readDefinitions, recording, writeRecording } from "./openapi.ts";
import { places } from "./places.ts";
import { running } from "./processes.ts";
import { say } from "./say.ts";

const usage = `usage: npm run lab -- COMMAND

  up          builds what is not built yet, starts what does not run, waits until all is ready
  build       only builds; needs Go, but no root
  down        ends everything and leaves no trace but the built programs
  status      says what runs, and where the kubeconfig and the logs are; exits with 1 unless all is well
  images      imports the lab's images into containerd and prints their names
  openapi     records the types of the API server for the simulated one; needs Go
  kubectl …   kubectl against the lab`;

const commands: Record<string, (args: string[]) => Promise<number>> = {
  async up() {
    await up();
    return 0;
  },
  async build() {
    await build();
    return 0;
  },
  async down() {
    await down();
    return 0;
  },
  async status() {
    const { components, addons, nodeReady, up } = await status();
    for (const { name, pid, ready } of components) {
      say(`${name.padEnd(24)} ${pid === undefined ? "stopped" : `${ready ? "ready" : "not ready"}, process ${pid}`}`);
    }
    for (const { name, ready } of [{ name: "node", ready: nodeReady }, ...addons]) {
      say(`${name.padEnd(24)} ${ready ? "ready" : "not ready"}`);
    }
    say(`${"kubeconfig".padEnd(24)} ${places.kubeconfig}`);
    say(`${"logs".padEnd(24)} ${places.logs} (audit log: ${places.auditLog})`);
    return up ? 0 : 1;
  },
  async images() {
    mustRun("containerd");
    for (const name of importImages().all) say(name);
    return 0;
  },
  async openapi() {
    mustRun("kube-apiserver");
    writeRecording(await readDefinitions(async (path) => (await callApi(path)).body));
    say(recording);
    return 0;
  },
  async kubectl(args) {
    mustRun("kube-apiserver");
    const env = kubectlEnvironment();
    return spawnSync(kubeBinary(), ["kubectl", ...args], { stdio: "inherit", env }).status ?? 1;
  },
};

function mustRun(component: string): void {
  if (running(component) === undefined) throw new Error(`${component} does not run: npm run lab -- up`);
}

async function main([name = "", ...args]: string[]): Promise<number> {
  const command = commands[name];
  if (command) return command(args);
  process.stderr.write(`${usage}\n`);
  return 2;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
