/** Processes of a benchmark, which report to their parent by messages. */
import { type ChildProcess, fork } from "node:child_process";
import { on, once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Owner } from "../test/support/owner.ts";

const folder = import.meta.dirname;
const program = readFileSync(join(folder, "../bin/akash-provider"), "utf8");
const [, flags = ""] = /^exec "\$node" (.+?) "/m.exec(program) ?? [];

/** Node as bin/akash-provider runs it, and with `gc`, for honest readings of memory. */
export const nodeFlags = ["--expose-gc", ...flags.split(" ")];

const compiled = join(folder, "../node_modules/.cache/bench");

/** As with bin/akash-provider, what was once compiled is not compiled again, and threads share their memory. */
export function launch(file: string, ...args: readonly string[]): ChildProcess {
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled, MALLOC_ARENA_MAX: "2" };
  return fork(join(folder, file), args, { execArgv: nodeFlags, serialization: "advanced", env });
}

/** One that ends with its owner, however that ends. */
export function startChild(owner: Owner, file: string, ...args: readonly string[]): ChildProcess {
  const child = launch(file, ...args);
  const ended = once(child, "exit");
  owner.after(async () => {
    if (child.connected) child.disconnect();
    await ended;
  });
  return child;
}

/** In the child: answers its parent, and ends with it; returns how to report to it. */
export function serveParent<Command, Report>(answer: (command: Command) => unknown = () => undefined) {
  process.on("message", answer);
  process.once("disconnect", () => process.exit());
  return (message: Report): void => void process.send?.(message);
}

/** The next message of this kind. */
export async function nextMessage<Message extends { what: string }, What extends Message["what"]>(
  child: ChildProcess,
  what: What,
): Promise<Extract<Message, { what: What }>> {
  for await (const [message] of on(child, "message", { close: ["exit"] })) {
    if (message.what === what) return message;
  }
  throw new Error(`a process ended before it reported "${what}"`);
}

/** Now, to a fraction of a millisecond, and alike in all processes of this machine. */
export function sharedMs(): number {
  return performance.timeOrigin + performance.now();
}
