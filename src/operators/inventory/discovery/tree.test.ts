import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/folder.ts";
import { plantMachine } from "../../../../test/support/machine-tree.ts";
import { createTree, discoveryEntries, discoveryFileBytes, discoveryNameChars } from "./tree.ts";

test("a pipe without a writer reads as empty", async (t) => {
  const root = plantMachine(t, { "/sys/size": "1\n" });
  execFileSync("mkfifo", [join(root, "pipe")]);
  assert.equal(await createTree(root).text("/pipe"), undefined);
});

test("a link to a device without an end is read no further than a file may be long", async (t) => {
  const tree = createTree(plantMachine(t, { "/proc/version": { link: "/dev/zero" } }));
  assert.equal(await tree.text("/proc/version"), undefined);
  assert.deepEqual(tree.problems(), [`/proc/version: it is longer than ${discoveryFileBytes} bytes`]);
});

test("a file may be exactly as long as the limit", async (t) => {
  const text = "x".repeat(10_000);
  const tree = createTree(plantMachine(t, { "/file": text }));
  assert.equal(await tree.text("/file", 10_000), text);
  assert.equal(await tree.text("/file", 9_999), undefined);
});

test("link loops are reported", async (t) => {
  const tree = createTree(plantMachine(t, { "/a": { link: "b" }, "/b": { link: "a" } }));
  assert.equal(await tree.text("/a"), undefined);
  assert.deepEqual(tree.problems(), ["/a: its links form a loop"]);
});

test("of a folder with too many entries the first are read", async (t) => {
  const root = temporaryFolder(t);
  for (let index = 0; index < discoveryEntries + 5; index++) symlinkSync("x", join(root, `${index}`));
  const tree = createTree(root);
  assert.equal((await tree.names("/")).length, discoveryEntries);
  assert.deepEqual(tree.problems(), [`/: only the first ${discoveryEntries} entries were read`]);
});

test("a name is one short line, whatever a device calls itself", async (t) => {
  const tree = createTree(plantMachine(t, { "/model": `  Disk\u0007 of\n\t Doom\u202e ${"x".repeat(500)}` }));
  const name = await tree.name("/model");
  assert.ok(name?.startsWith("Disk of Doom xxx"), name);
  assert.ok(name !== undefined && name.length <= discoveryNameChars);
});
