/** kubectl against the lab: part of the program that the lab's Kubernetes is. */
import { spawn } from "node:child_process";
import { kubeBinary } from "./build.ts";
import { places } from "./places.ts";

/** How it ended, when that was not well. */
export class KubectlError extends Error {
  readonly code: number | null;

  constructor(args: readonly string[], code: number | null, complaint: string) {
    super(`kubectl ${args.join(" ")} ended with ${code}: ${complaint.trim()}`);
    this.code = code;
  }
}

/** Its output. */
export async function kubectl(args: readonly string[], input = ""): Promise<string> {
  const child = spawn(kubeBinary(), ["kubectl", ...args], { env: kubectlEnvironment() });
  const printed: Buffer[] = [];
  const complaint: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => printed.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => complaint.push(chunk));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  if (code !== 0) throw new KubectlError(args, code, Buffer.concat(complaint).toString("utf8"));
  return Buffer.concat(printed).toString("utf8");
}

export function kubectlEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, KUBECONFIG: places.kubeconfig };
}
