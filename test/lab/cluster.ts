/** The lab as tests see it: whether it is there, a namespace of one's own, kubectl. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { callApi } from "../../lab/api.ts";
import { kubeBinary } from "../../lab/build.ts";
import { status } from "../../lab/lab.ts";
import { places } from "../../lab/places.ts";

/** Why the lab's tests cannot run, or false. In CI nothing is skipped: there a missing lab makes the tests fail. */
export const labIsMissing: string | false =
  (await status()).up || process.env["CI"] ? false : "the lab is down: npm run lab -- up";

/** A namespace that goes away with the test, and everything in it. */
export async function temporaryNamespace(t: Pick<TestContext, "after">): Promise<string> {
  const name = `test-${randomBytes(4).toString("hex")}`;
  await create("/api/v1/namespaces", { metadata: { name } });
  // kubectl waits until it is gone.
  t.after(() => kubectl("delete", "namespace", name));
  return name;
}

export async function create(path: string, object: object): Promise<void> {
  const answer = await callApi(path, "POST", object);
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
}

export async function read<T>(path: string): Promise<T> {
  const answer = await callApi(path);
  if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body) as T;
}

export async function kubectl(...args: string[]): Promise<string> {
  const env = { ...process.env, KUBECONFIG: places.kubeconfig };
  return (await promisify(execFile)(kubeBinary(), ["kubectl", ...args], { env })).stdout;
}
