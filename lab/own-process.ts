/** A process of the lab's programs that belongs to one test: it writes its log into a folder and cannot outlive us. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { readIfThere } from "./files.ts";
import { needProgram, programFolders } from "./machine.ts";
import type { Command } from "./processes.ts";

export interface OwnProcess {
  /** Waits until `look` says so; throws with the end of its log when it died or took too long. */
  until(look: () => Promise<boolean>): Promise<void>;
  /** Sends SIGTERM or SIGKILL, and waits for its exit. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** An API server on a busy machine takes half of this. */
const readyWithinMs = 90_000;

/** A loopback address that no other process uses: each of its ports is free, and stays free while a server restarts. */
export function ownAddress(): string {
  return [127, randomInt(64, 128), randomInt(256), randomInt(1, 255)].join(".");
}

export function startOwnProcess(name: string, { program, args }: Command, folder: string): OwnProcess {
  const logFile = join(folder, `${name}.log`);
  const log = openSync(logFile, "a");
  // Whatever becomes of the test, the kernel ends its processes with it.
  const child = spawn(needProgram("setpriv"), ["--pdeathsig", "KILL", program, ...args], {
    stdio: ["ignore", log, log],
    // Nothing of the caller's: a proxy setting, for one, would send its talk through it. And memory is cheaper than time
    // for what lives a minute: Go collects garbage four times less often.
    env: { PATH: programFolders.join(delimiter), HOME: folder, GOGC: "400" },
  });
  closeSync(log);
  const closed = once(child, "close");
  // Avoids an unhandled rejection if `until` is not called.
  closed.catch(() => undefined);
  const ended = () => child.exitCode !== null || child.signalCode !== null;

  return {
    async until(look) {
      const deadlineMs = realClock.monotonicMs() + readyWithinMs;
      while (!(await look())) {
        if (ended() || realClock.monotonicMs() > deadlineMs) {
          const why = ended() ? "ended" : `was not ready within ${readyWithinMs / 1_000} s`;
          const lines = (readIfThere(logFile) ?? "").trimEnd().split("\n").slice(-15);
          throw new Error(`${name} ${why}; its log ends with:\n${lines.join("\n")}`);
        }
        await sleep(realClock, 50);
      }
    },
    async end(signal) {
      if (!ended()) child.kill(signal);
      await closed;
    },
  };
}
