/** Redis servers and Sentinels for tests: real processes on free ports, gone when the test is. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redisAddress } from "../src/bus/redis-address.ts";
import { openConnection } from "../src/bus/redis-connection.ts";
import { realClock } from "../src/runtime/clock.ts";
import { eventually } from "./eventually.ts";
import type { Owner } from "./owner.ts";

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Sends one command over a connection of its own. */
  command(...args: string[]): Promise<unknown>;
  /** As an operator does it. */
  stop(): Promise<void>;
  /** As a power cut does it. */
  kill(): Promise<void>;
  /** Keeps its connections open but does nothing, as a hanging machine. */
  pause(): void;
  resume(): void;
}

/** Why tests with a real Redis cannot run here; false when they can. */
export const redisMissing: false | string =
  spawnSync("redis-server", ["--version"]).error === undefined
    ? false
    : "redis-server is not installed; on Debian: apt-get install redis-server";

export async function startRedis(
  owner: Owner,
  { port, args = [] }: { port?: number; args?: readonly string[] } = {},
): Promise<RedisServer> {
  const free = port ?? (await freePort());
  const settings = ["--port", String(free), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  return start(owner, free, (folder) => ["--dir", folder, ...settings, ...args]);
}

export async function startSentinel(
  owner: Owner,
  master: { name: string; port: number; quorum: number; downAfterMs: number },
): Promise<RedisServer> {
  const port = await freePort();
  const { name } = master;
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `sentinel monitor ${name} 127.0.0.1 ${master.port} ${master.quorum}`,
    `sentinel down-after-milliseconds ${name} ${master.downAfterMs}`,
    `sentinel failover-timeout ${name} ${master.downAfterMs * 10}`,
  ];
  return start(owner, port, (folder) => {
    // A Sentinel writes what it learns into its file.
    const file = join(folder, "sentinel.conf");
    writeFileSync(file, `${[...lines, `dir ${folder}`].join("\n")}\n`);
    return [file, "--sentinel"];
  });
}

async function start(owner: Owner, port: number, argsIn: (folder: string) => readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-redis-"));
  const child = spawn("redis-server", argsIn(folder), { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output = (output + String(chunk)).slice(-2_000);
  });
  const end = (signal: NodeJS.Signals) => endProcess(child, signal);
  const lastResort = () => child.kill("SIGKILL");
  process.once("exit", lastResort);
  owner.after(async () => {
    await end("SIGKILL");
    process.removeListener("exit", lastResort);
    // Only now: while it runs it may write there.
    rmSync(folder, { recursive: true, force: true });
  });
  const command = (...command: string[]) => commandTo(port, command);
  await eventually(`redis-server on port ${port}`, async () => {
    if (child.exitCode !== null) throw new Error(`redis-server ended: ${output}`);
    return (await command("PING")) === "PONG";
  });
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
  };
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

async function commandTo(port: number, command: readonly string[]): Promise<unknown> {
  const address = redisAddress({ url: `redis://127.0.0.1:${port}` });
  const { signal } = new AbortController();
  const connection = await openConnection(address, { name: "test", clock: realClock, answerMs: 10_000, signal });
  try {
    return await connection.send(command);
  } finally {
    connection.close();
  }
}

/**
 * Below those that the system gives to whoever wants any: one of these could be somebody else's a moment later, or a
 * connection to it could be connected with itself.
 */
export function freePort(): Promise<number> {
  return eventually("a free port", async () => {
    const port = randomInt(10_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return port;
  });
}
