/** The commands that act on a chain, as a person gives them: an embedded chain, a provider, a tenant, the feed. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createCommandRunner } from "../support/command-runner.ts";
import { temporaryFolder } from "../support/folder.ts";
import type { Owner } from "../support/owner.ts";
import { startProgram } from "../support/program.ts";
import { armoredExport } from "../support/samples/keyring-samples.ts";

const endings: (() => void | Promise<void>)[] = [];
/** The latest first: a program ends before the folder goes that it writes to. */
const owner: Owner = { after: (end) => void endings.unshift(end) };
after(async () => {
  for (const end of endings) await end();
});

/** The one that the README tells a newcomer to use. */
const sdl = readFileSync(join(import.meta.dirname, "../..", "docs", "deploy.yaml"), "utf8");

const providerYaml = `
host: https://provider.example.com:8443
attributes:
  - key: region
    value: box
`;

describe("on an embedded chain", { concurrency: false }, () => {
  const folder = temporaryFolder(owner);
  const file = (name: string) => join(folder, name);
  let rpc = "";
  let tenant = "";

  before(async () => {
    writeFileSync(file("deploy.yaml"), sdl);
    writeFileSync(file("changed.yaml"), sdl.replace("nginx:1.27", "nginx:1.28"));
    writeFileSync(file("provider.yaml"), providerYaml);
    const args = ["chain", "--rpc-port", "0", "--grpc-port", "0", "--block-time", "250ms", "--keys", file("keys")];
    const chain = startProgram(owner, [...args, "--file", file("chain.log")]);
    await chain.says(/makes blocks/);
    rpc = /RPC +(\S+)/.exec(chain.said)?.[1] ?? "";
    tenant = /tenant +(akash1\S+)/.exec(chain.said)?.[1] ?? "";
  });

  const giveCommand = createCommandRunner(owner);
  const give = async (args: string[], key = "tenant", env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await giveCommand(
      [...args, "--node", rpc, "--key-file", file(`keys/${key}.key`)],
      env,
    );
    return { code, said: `${stdout}${stderr}` };
  };

  test("the provider is registered once, and again only when something changed", async () => {
    const register = ["register", "--provider-config", file("provider.yaml")];
    assert.match(
      (await give(register, "provider")).said,
      /is registered as https:\/\/provider\.example\.com:8443 {2}block/,
    );
    assert.match((await give(register, "provider")).said, /nothing was sent/);
    writeFileSync(file("provider.yaml"), providerYaml.replace("8443", "9443"));
    assert.match((await give(register, "provider")).said, /is up to date as https:\/\/provider\.example\.com:9443/);
  });

  test("a tenant creates, funds, updates and closes a deployment, and the feed tells of it", async () => {
    const events = startProgram(owner, ["events", "--node", rpc, "--from-height", "1"]);
    const id = ["--dseq", "7"];
    assert.match((await give(["tenant", "create", file("deploy.yaml"), ...id])).said, /created akash1\S+\/7 /);
    assert.match((await give(["tenant", "deposit", "1000000uact", ...id])).said, /added 1000000uact/);
    assert.match((await give(["tenant", "update", file("changed.yaml"), ...id])).said, /updated akash1/);
    assert.match((await give(["tenant", "lease", ...id])).said, /no provider has an open bid[\s\S]*→ Wait for one/);
    assert.match((await give(["tenant", "close", ...id])).said, /closed akash1/);
    const story = ["deployment created", "order created", "deployment updated", "order closed"];
    await events.says(new RegExp(story.map((word) => `${word} +${tenant}/7`).join("[\\s\\S]*")));
    events.signal("SIGINT");
    assert.equal(await events.ended(), 0, events.said);
  });

  test("what the chain rejects is told in its words, with exit code 1", async () => {
    const key = ["--key-file", file("keys/tenant.key")];
    const program = startProgram(owner, ["tenant", "close", "--dseq", "404", "--node", rpc, ...key]);
    assert.equal(await program.ended(), 1);
    assert.match(program.said, /the chain refused the transaction: .*Deployment not found\n {2}→/);
  });

  test("an SDL that makes no sense is rejected with what is wrong in it", async () => {
    writeFileSync(file("bad.yaml"), sdl.replace("count: 1", "count: 0"));
    const { code, said } = await give(["tenant", "create", file("bad.yaml")]);
    assert.equal(code, 2);
    assert.match(said, /bad\.yaml is not a deployment that can be posted:\n {2}- /);
  });

  test("a wallet without funds is told where to send them", async () => {
    writeFileSync(file("keys/poor.key"), `${"11".repeat(32)}\n`, { mode: 0o600 });
    const { code, said } = await give(["tenant", "close", "--dseq", "7"], "poor");
    assert.equal(code, 1);
    assert.match(said, /the chain has never seen akash1\S+, so it cannot pay[\s\S]*→ Send AKT to akash1/);
  });

  test("a bad mnemonic is rejected without being repeated", async () => {
    const words = "zoo ".repeat(11).concat("wolfish");
    writeFileSync(file("keys/bad.key"), words, { mode: 0o600 });
    const { code, said } = await give(["tenant", "close", "--dseq", "7"], "bad");
    assert.notEqual(code, 0);
    assert.match(said, /the mnemonic in .*bad\.key is wrong/);
    assert.doesNotMatch(said, /wolfish/);
  });

  test("a wrong pass-phrase is told with where it came from", async () => {
    const armored = await armoredExport(new Uint8Array(32).fill(1), "the right one", "argon2");
    writeFileSync(file("keys/armored.key"), armored, { mode: 0o600 });
    const env = { AP_KEY_PASSPHRASE: "not this one" };
    const { code, said } = await give(["tenant", "close", "--dseq", "7"], "armored", env);
    assert.notEqual(code, 0);
    assert.match(said, /AP_KEY_PASSPHRASE/);
    assert.doesNotMatch(said, /not this one/);
  });

  test("an unreachable node is named, with what to do", async () => {
    const program = startProgram(owner, ["events", "--node", "http://127.0.0.1:1"]);
    assert.equal(await program.ended(), 1);
    assert.match(program.said, /the node http:\/\/127\.0\.0\.1:1 cannot be reached[\s\S]*→ Check that it runs/);
  });

  test("a key of the box that is none is named, with what to put there", async () => {
    writeFileSync(file("tenant.key"), "zz", { mode: 0o600 });
    const program = startProgram(owner, ["chain", "--rpc-port", "0", "--grpc-port", "0", "--keys", folder]);
    assert.equal(await program.ended(), 2, program.said);
    assert.match(program.said, /tenant\.key holds no key[\s\S]*→ Put into it/);
  });

  test("whoever has read enough of the feed ends it without a fault", async () => {
    const events = startProgram(owner, ["events", "--node", rpc, "--from-height", "1", "--blocks"]);
    await events.says(/^\d+$/m);
    events.stopReading();
    assert.equal(await events.ended(), 0, events.said);
    assert.doesNotMatch(events.said, /EPIPE/);
  });

  test("settings without effect are named in a warning", async () => {
    const { said } = await give(["tenant", "close", "--dseq", "404"], "tenant", { AKASH_NOSUCH: "1" });
    assert.match(said, /warning: AKASH_NOSUCH has no effect/);
  });

  test("the keys that the box made are readable by their owner only", () => {
    assert.equal(statSync(file("keys/tenant.key")).mode & 0o777, 0o600);
  });

  test("the provider runs on it, follows its blocks, and takes up where it stopped", async () => {
    const where = [
      "--data-dir",
      file("data"),
      "--gateway-listen-address",
      "127.0.0.1:0",
      "--gateway-grpc-listen-address",
      "127.0.0.1:0",
    ];
    const args = ["run", ...where, "--node", rpc, "--key-file", file("keys/provider.key")];
    for (const _ of ["first", "second"]) {
      const program = startProgram(owner, args);
      await program.says(/service=chain state=running/);
      program.signal("SIGTERM");
      assert.equal(await program.ended(), 0, program.said);
    }
  });
});
