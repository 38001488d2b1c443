/** docs/seeds.md: every file that it names is there, and every test stands in the file that is said to hold it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "..");

interface Row {
  readonly promise: string;
  readonly kept: readonly string[];
  readonly shown: readonly { readonly file: string; readonly name: string }[];
}

function rowsOfPage(): Row[] {
  const page = readFileSync(join(root, "docs/seeds.md"), "utf8");
  const rows = page.matchAll(/^\| \d[^|]* \| (.+?) \| (.+?) \| (.+) \|$/gm);
  return [...rows].map(([, promise = "", kept = "", shown = ""]) => ({
    promise,
    kept: [...kept.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
    shown: shown.split("<br>").map((text) => {
      const [, file = "", name = ""] = /^`([^`]+)`: (.+)$/.exec(text) ?? [];
      return { file, name };
    }),
  }));
}

test("every promise of the seeds is kept in files that are there, and shown by tests that are there", () => {
  const rows = rowsOfPage();
  assert.ok(rows.length > 50);
  const missing: string[] = [];
  for (const { promise, kept, shown } of rows) {
    if (kept.length === 0) missing.push(`${promise}: kept nowhere`);
    for (const path of kept) if (!existsSync(join(root, path))) missing.push(`${promise}: ${path}`);
    for (const { file, name } of shown) {
      const text = existsSync(join(root, file)) ? readFileSync(join(root, file), "utf8") : "";
      const isThere = name.length > 0 && ['"', "`"].some((quote) => text.includes(`${quote}${name}${quote}`));
      if (!isThere) missing.push(`${promise}: ${file}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});
