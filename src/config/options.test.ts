import assert from "node:assert/strict";
import { test } from "node:test";
import { Command, CommanderError } from "commander";
import { exitCodeOfUsage, throwOnWrongUsage } from "../cli/commands.ts";
import { loadConfig } from "./load.ts";
import { addSettingOptions, givenFlags } from "./options.ts";
import { settingsByFlag } from "./table.ts";

/** A command that says nothing on the terminal; what it would have said is in `told`. */
function quiet(command: Command): { command: Command; told: string[] } {
  const told: string[] = [];
  const write = (text: string) => told.push(text);
  command.configureOutput({ writeErr: write, writeOut: write });
  return { command: throwOnWrongUsage(command), told };
}

function parse(...args: string[]) {
  const { command } = quiet(addSettingOptions(new Command("run"), "run"));
  return givenFlags(command.parse(args, { from: "user" }));
}

function usageError(...args: string[]): { exitCode: number; told: string } {
  const { command, told } = quiet(addSettingOptions(new Command("run"), "run"));
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    assert.ok(error instanceof CommanderError);
    return { exitCode: exitCodeOfUsage(error), told: told.join("") };
  }
  return assert.fail("it was not refused");
}

test("what was given is found again by its flag, and nothing else is", () => {
  assert.deepEqual(parse(), {});
  assert.deepEqual(
    parse("--bid-timeout", "3m", "--cluster-k8s", "--log_level=debug", "-b", "block", "--ip-operator=false", "-y"),
    {
      "bid-timeout": "3m",
      "cluster-k8s": true,
      log_level: "debug",
      "broadcast-mode": "block",
      "ip-operator": "false",
      yes: true,
    },
  );
});

test("a negative time and a list given in pieces arrive as they were written", () => {
  assert.deepEqual(parse("--reclamation-window", "-5m", "--node", "http://a", "--node", "http://b,http://c"), {
    "reclamation-window": "-5m",
    node: ["http://a", "http://b,http://c"],
  });
  assert.deepEqual(
    loadConfig({ flags: parse("--node", "http://a", "--node", "http://b"), env: {}, readFile: assert.fail }).values
      .nodes,
    ["http://a", "http://b"],
  );
});

test("every flag of a program is taken, and a flag of another program is not", () => {
  for (const { flag, usedBy } of settingsByFlag.values()) {
    if (usedBy.includes("run")) assert.ok(flag in parse(`--${flag}=x`), flag);
    else assert.equal(usageError(`--${flag}=x`).exitCode, 2, flag);
  }
});

test("a mistyped flag is rejected with the nearest one and the exit code of wrong settings", () => {
  const { exitCode, told } = usageError("--bid-timout", "5m");
  assert.equal(exitCode, 2);
  assert.match(told, /unknown option '--bid-timout'\n\(Did you mean --bid-timeout\?\)/);
});

test("help ends well, names the variable and the default, and hides what is dead or secret", () => {
  const { exitCode, told } = usageError("--help");
  assert.equal(exitCode, 0);
  const flat = told.replace(/\s+/g, " ");
  assert.match(flat, /--shutdown-timeout <time> .*? \(AP_SHUTDOWN_TIMEOUT, default 25s\)/);
  assert.match(told, /^Bids and prices:$/m);
  assert.doesNotMatch(told, /--tx-broadcast-timeout|--redis-password|--dry-run/);
});

test("a command keeps an option of its own that has the name of a setting", () => {
  const { command } = quiet(addSettingOptions(new Command("print").option("-o, --output <format>"), "all"));
  command.parse(["--output", "json", "--rest-port", "9000"], { from: "user" });
  assert.equal(command.opts()["output"], "json");
  assert.deepEqual(givenFlags(command), { "rest-port": "9000" });
});
