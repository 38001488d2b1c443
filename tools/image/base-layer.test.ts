import assert from "node:assert/strict";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/folder.ts";
import { baseLayer } from "./base-layer.ts";

test("packages become one layer: folders merged, links as they are, no set-user-id, no manuals", (t) => {
  const folder = temporaryFolder(t);
  const put = (path: string, mode = 0o644) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), path);
    chmodSync(join(folder, path), mode);
  };
  put("bin/bash", 0o755);
  put("usr/bin/su", 0o4755);
  put("usr/share/doc/bash/copyright");
  put("usr/share/doc/bash/changelog.gz");
  put("usr/share/man/man1/bash.1.gz");
  put("usr/share/ca-certificates/mozilla/one.crt");
  mkdirSync(join(folder, "usr/lib"));
  // Of the machine that builds the image: what it has there is none of the image's business.
  symlinkSync("/etc", join(folder, "usr/lib/ssl"));

  const layer = baseLayer({ folder, packages: new Map([["bash", "Package: bash\n"]]) });
  const entry = (path: string) => layer.find((one) => one.path === path);
  assert.equal(entry("usr/bin/bash")?.mode, 0o755);
  assert.equal(entry("bin")?.link, "usr/bin");
  assert.equal(entry("usr/bin/su")?.mode, 0o755);
  assert.equal(entry("usr/lib/ssl")?.link, "/etc");
  assert.ok(!layer.some(({ path }) => path.startsWith("usr/lib/ssl/") || path.includes("/man/")));
  assert.ok(entry("usr/share/doc/bash/copyright"));
  assert.equal(entry("usr/share/doc/bash/changelog.gz"), undefined);
  assert.equal(entry("usr/bin/awk")?.link, "mawk");
  assert.equal(entry("etc/ssl/certs/ca-certificates.crt")?.content, "usr/share/ca-certificates/mozilla/one.crt\n");
  assert.equal(entry("var/lib/dpkg/status.d/bash")?.content, "Package: bash\n");
  const paths = layer.map(({ path }) => path);
  for (const path of paths.filter((one) => one.includes("/", 0) && !one.endsWith("/"))) {
    assert.ok(paths.indexOf(`${dirname(path)}/`) < paths.indexOf(path), `${path} comes after its folder`);
  }
});
