/** Redis servers and Sentinels for tests: real processes on free ports, gone when the test is. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createClient } from "redis";
import { eventually } from "./eventually.ts";
import { temporaryFolder } from "./folder.ts";
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
  const folder = temporaryFolder(owner);
  const settings = ["--port", String(free), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  return start(owner, free, [...settings, ...args]);
}

export async function startSentinel(
  owner: Owner,
  master: { name: string; port: number; quorum: number; downAfterMs: number },
): Promise<RedisServer> {
  const port = await freePort();
  const folder = temporaryFolder(owner);
  // A Sentinel writes what it learns into its file.
  const file = join(folder, "sentinel.conf");
  const { name } = master;
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${folder}`,
    `sentinel monitor ${name} 127.0.0.1 ${master.port} ${master.quorum}`,
    `sentinel down-after-milliseconds ${name} ${master.downAfterMs}`,
    `sentinel failover-timeout ${name} ${master.downAfterMs * 10}`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  return start(owner, port, [file, "--sentinel"]);
}

async function start(owner: Owner, port: number, args: readonly string[]): Promise<RedisServer> {
  const child = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
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

async function commandTo(port: number, command: string[]): Promise<unknown> {
  const client = createClient({
    RESP: 2,
    url: `redis://127.0.0.1:${port}`,
    socket: { reconnectStrategy: false },
    disableClientInfo: true,
    maintNotifications: "disabled",
  });
  // Told by the rejected promise as well; without a listener Node would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await client.sendCommand(command);
  } finally {
    client.destroy();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || !address) throw new Error("no port");
  return address.port;
}
