/** Builds Kubernetes from lab/kube once per content; later runs, and other checkouts, find it in the cache. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { realClock } from "../src/runtime/clock.ts";
import { needProgram } from "./machine.ts";
import { places } from "./places.ts";
import { say } from "./say.ts";

const version = "v1.34.4";
const [major, minor] = version.slice(1).split(".");
const stamp = "k8s.io/component-base/version";
const flags = [
  // The checkout's path must not be part of what is built, or no second checkout could share Go's own cache.
  "-trimpath",
  "-buildvcs=false",
  "-ldflags",
  `-s -w -X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
];
const source = join(import.meta.dirname, "kube");

/** Often enough to see that it lives, seldom enough to leave a readable log. */
const progressMs = 15_000;

/** Where the program for this source is or will be. */
export function kubeBinary(): string {
  const hash = createHash("sha256").update(flags.join("\n"));
  for (const name of ["go.mod", "go.sum", "main.go"]) hash.update(readFileSync(join(source, name)));
  return join(places.cache, hash.digest("hex").slice(0, 16), "kube");
}

export function isBuilt(): boolean {
  return existsSync(kubeBinary());
}

/** The path of the program, built first if need be. */
export async function buildKube(): Promise<string> {
  const target = kubeBinary();
  if (existsSync(target)) return target;
  mkdirSync(dirname(target), { recursive: true });
  const go = needProgram("go");
  say(`building Kubernetes ${version}: the first time takes about 8 minutes on two cores`);
  // A build that was cut short must not look like a finished one.
  const unfinished = `${target}.${process.pid}`;
  await run(go, ["build", ...flags, "-o", unfinished, "."]);
  renameSync(unfinished, target);
  return target;
}

async function run(go: string, args: string[]): Promise<void> {
  const startedMs = realClock.monotonicMs();
  const seconds = () => Math.round((realClock.monotonicMs() - startedMs) / 1000);
  let compiled = 0;
  const total = countPackages(go);
  // -v prints each package as its compilation ends; those already in Go's cache are not printed.
  const child = spawn(go, [args[0] ?? "", "-v", ...args.slice(1)], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" },
    stdio: ["ignore", "inherit", "pipe"],
  });
  const complaints: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n").filter(Boolean)) {
      if (/\s/.test(line)) complaints.push(line);
      else compiled++;
    }
  });
  let timer = realClock.timer(progressMs, function tick() {
    say(`  ${compiled} of at most ${total} packages compiled, ${seconds()} s`);
    timer = realClock.timer(progressMs, tick);
  });
  try {
    const status = await new Promise<number | null>((resolve, reject) =>
      child.on("error", reject).on("close", resolve),
    );
    if (status !== 0) throw new Error(`go build failed in ${source}:\n${complaints.slice(-20).join("\n")}`);
  } finally {
    timer.cancel();
  }
  say(`built in ${seconds()} s`);
}

/** Also downloads the modules, whose progress Go itself prints. */
function countPackages(go: string): number {
  const listed = spawnSync(go, ["list", "-deps", "."], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 16 * 1024 * 1024,
  });
  if (listed.status !== 0) throw new Error(`go list failed in ${source}`);
  return listed.stdout.split("\n").filter(Boolean).length;
}
