import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { type Entry, tar, untar } from "./tar.ts";

const mixed: readonly Entry[] = [
  { path: "bin/", folder: true },
  { path: "bin/tool", mode: 0o755, content: "#!/bin/sh\n" },
  { path: "bin/alias", link: "tool" },
  { path: "copy", from: import.meta.filename },
];
const long = `${"folder/".repeat(20)}${"n".repeat(90)}`;

describe("an archive", () => {
  it("gives the machine's tar what was put in: files, modes, links, folders", (t) => {
    const folder = unpack(t, mixed);
    assert.equal(readFileSync(join(folder, "bin/tool"), "utf8"), "#!/bin/sh\n");
    assert.equal(lstatSync(join(folder, "bin/tool")).mode & 0o777, 0o755);
    assert.equal(readlinkSync(join(folder, "bin/alias")), "tool");
    assert.deepEqual(readFileSync(join(folder, "copy")), readFileSync(import.meta.filename));
  });

  it("keeps a path of more than a hundred characters", (t) => {
    assert.equal(readFileSync(join(unpack(t, [{ path: long, content: "deep" }]), long), "utf8"), "deep");
  });

  it("is read back: the files with their paths and contents", () => {
    const entries = [...mixed, { path: "empty", content: "" }, { path: long, content: "x".repeat(512) }];
    assert.deepEqual(
      [...untar(Buffer.concat([...tar(entries)]))].map(({ path, content }) => [path, content.toString()]),
      [
        ["bin/tool", "#!/bin/sh\n"],
        ["copy", readFileSync(import.meta.filename, "utf8")],
        ["empty", ""],
        [long, "x".repeat(512)],
      ],
    );
  });

  it("rejects a path that the format cannot hold", () => {
    assert.throws(() => [...tar([{ path: "n".repeat(101) }])], /too long/);
  });

  it("is the same bytes for the same entries", () => {
    const make = () => Buffer.concat([...tar([{ path: "a", content: "b" }])]);
    assert.deepEqual(make(), make());
  });
});

function unpack(t: TestContext, entries: readonly Entry[]): string {
  const folder = temporaryFolder(t);
  const archive = join(folder, "archive.tar");
  writeFileSync(archive, Buffer.concat([...tar(entries)]));
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  return folder;
}
