/** Redis servers and Sentinels for tests: real processes on ports of their own, gone when the test is. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
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

/** On a port of its own, unless it is started again on that of one that has ended. */
export function startRedis(
  owner: Owner,
  { port, args = [] }: { port?: number; args?: readonly string[] } = {},
): Promise<RedisServer> {
  const settings = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", ...args];
  const argsFor = (folder: string, at: number) => ["--dir", folder, "--port", String(at), ...settings];
  return port === undefined ? startAnywhere(owner, argsFor) : start(owner, port, argsFor);
}

/** The port of a Redis that has ended, for another to start on. */
export async function stoppedRedisPort(owner: Owner): Promise<number> {
  const { port, stop } = await startRedis(owner);
  await stop();
  return port;
}

export function startSentinel(
  owner: Owner,
  master: { name: string; port: number; quorum: number; downAfterMs: number },
): Promise<RedisServer> {
  const { name } = master;
  const lines = [
    "bind 127.0.0.1",
    `sentinel monitor ${name} 127.0.0.1 ${master.port} ${master.quorum}`,
    `sentinel down-after-milliseconds ${name} ${master.downAfterMs}`,
    `sentinel failover-timeout ${name} ${master.downAfterMs * 10}`,
  ];
  return startAnywhere(owner, (folder, port) => {
    // A Sentinel writes what it learns into its file.
    const file = join(folder, "sentinel.conf");
    writeFileSync(file, `${[`port ${port}`, ...lines, `dir ${folder}`].join("\n")}\n`);
    return [file, "--sentinel"];
  });
}

type ArgsFor = (folder: string, port: number) => readonly string[];

class PortTaken extends Error {}

async function startAnywhere(owner: Owner, argsFor: ArgsFor): Promise<RedisServer> {
  for (;;) {
    try {
      return await start(owner, await claimPort(owner), argsFor);
    } catch (thrown) {
      if (!(thrown instanceof PortTaken)) throw thrown;
    }
  }
}

async function start(owner: Owner, port: number, argsFor: ArgsFor): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "akash-provider-redis-"));
  const child = spawn("redis-server", argsFor(folder, port), { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let output = "";
  child.stdout.on("data", (chunk) => {
    output = (output + String(chunk)).slice(-20_000);
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
  const hasEnded = () => child.exitCode !== null;
  // Its own words: another program on this port may answer too.
  const isUp = () => /Ready to accept connections|Sentinel ID is/.test(output);
  await eventually(`redis-server on port ${port}`, () => hasEnded() || isUp());
  if (hasEnded()) {
    await closed;
    const isTaken = output.includes("Address already in use");
    throw new (isTaken ? PortTaken : Error)(`redis-server on port ${port} has ended: ${output}`);
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (...command) => commandTo(port, command),
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
  const client = createClient({ RESP: 2, socket: { host: "127.0.0.1", port, reconnectStrategy: false } });
  // connect() and sendCommand() reject with the same error.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await client.sendCommand(command);
  } finally {
    client.destroy();
  }
}

/**
 * A port that no other test gets as long as its owner lasts: each test listens on the odd port above the even one that it claims.
 * Below those that the system gives to any client: one of these could be another program's a moment later, or a connection to it
 * could be connected with itself.
 */
export function claimPort(owner: Owner): Promise<number> {
  return eventually("a port that no other test has", async () => {
    const port = 2 * randomInt(5_000, 16_000);
    const claim = createServer().listen(port + 1, "127.0.0.1");
    await once(claim, "listening");
    owner.after(() => void claim.close());
    return port;
  });
}
