/** A discovery pod's process as it runs on every node: started as the pod starts it, and measured from outside. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exitCodes } from "../../src/runtime/catalogue.ts";
import { eventually } from "../support/eventually.ts";
import type { Owner } from "../support/owner.ts";

const program = join(import.meta.dirname, "../../bin/akash-provider");
const discover = ["operator", "inventory", "discover"];
/** As the operator writes them. */
const args = ["--api-port=0", "--root=/"];
const bare = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" };
/** Enough for its heap to find its size. */
const questions = 200;
const mostMb = 60;

async function startDiscovery(owner: Owner) {
  const child = spawn(program, [...discover, ...args], { stdio: ["ignore", "ignore", "pipe"], env: bare });
  const closed = once(child, "close");
  owner.after(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const port = await eventually("it to listen", () => /url=http:\/\/\S+:(\d+)/.exec(said)?.[1]);
  return {
    residentMb() {
      const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
      return Number(kilobytes) / 1_024;
    },
    async ask(path: string) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      assert.equal(answer.status, 200);
      return answer.text();
    },
    async stop() {
      child.kill("SIGTERM");
      await closed;
      return child.exitCode;
    },
  };
}

test(`a discovery pod takes at most ${mostMb} MB, however often it is queried`, async (t) => {
  // The first one after a change strips types and keeps that, as an installation does; then it is as in an image.
  const first = await startDiscovery(t);
  assert.equal(await first.stop(), 0);
  const discovery = await startDiscovery(t);
  for (let sent = 0; sent < questions; sent++) {
    await discovery.ask("/hardware");
    await discovery.ask("/health");
  }
  assert.ok(discovery.residentMb() <= mostMb, `${discovery.residentMb()} MB`);
  assert.equal(await discovery.stop(), 0);
});

test("a discovery process reads the settings of its environment, where there are any", () => {
  const env = { ...bare, AP_LOG_FORMAT: "loud" };
  const { status, stderr } = spawnSync(program, [...discover, ...args], { env, encoding: "utf8" });
  assert.match(stderr, /AP_LOG_FORMAT.*loud/);
  assert.equal(status, exitCodes.settings);
});
