/** Lists words that a Kubernetes, Cosmos, Go or Node engineer would have to look up, in identifiers, comments, texts and docs. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const preferred: Readonly<Record<string, string>> = {
  told: "reported, notified, returned",
  "whoever somebody nobody anybody": "the caller, the client, no one",
  "he him his": "the tenant, the operator, its",
  "stranger strangers": "unauthenticated client",
  "unwell sick": "unhealthy",
  "picture pictures": "snapshot",
  "trouble troubles": "error, reason",
  "card cards": "GPU",
  "refuse refuses refused refusal refusals refusing": "reject",
  "purse deed deeds misfit misfits": "wallet guard, event, placement failure",
  "housing foundation patience": "service runner, deps, deadline",
  vain: "failed",
};
const instead = new Map(
  Object.entries(preferred).flatMap(([words, use]) => words.split(" ").map((each) => [each, use])),
);

/** Words on the wire, in columns of the journal or of the field itself: path, and text to ignore. */
const exempt: readonly (readonly [RegExp, RegExp])[] = [
  [/./, /AKP_\w+|\w*_\w+|connection refused|REFUSED|"not asked"|"[^" ]*"|`[^` ]*`/g],
  [/\.md$/, /`[^`]*`|refuse:/g],
  [/polic|judgement/, /\brefuse\b/g],
  [/bid-status|bidengine-service|inventory-service|decide\.ts/, /\b(trouble|cards)\b/g],
  [/hostname|operators\/ip|^test\/lab\//, /\b[Rr]efused\b/g],
  [/^src\/journal\/(manifests|migrations|tables)/, /refusal|isRefused|told INTEGER|Nobody/g],
  [/cluster|lease|manifest|openapi/, /\b(troubles|hostTroubles|unwell|trouble(?=[,;]| =)|[rR]efusal|isRefused)\b/g],
  [/^tools\/(words|image\/base-layer)\.ts$/, /.*/g],
];

/** Words of one line, with identifiers cut at their capitals. */
function bannedWords(path: string, line: string): string[] {
  const counted = exempt.reduce((text, [paths, ignore]) => (paths.test(path) ? text.replace(ignore, "") : text), line);
  const words = counted
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.filter((word) => instead.has(word));
}

const root = join(import.meta.dirname, "..");
const listed = execFileSync("git", ["ls-files", "src", "test", "bench", "tools", "lab", "docs", "*.md"], { cwd: root });
for (const path of listed.toString().split("\n")) {
  if (!/\.(ts|md)$/.test(path) || /^test\/recordings\/|akash-proto/.test(path)) continue;
  for (const [index, line] of readFileSync(join(root, path), "utf8").split("\n").entries()) {
    for (const word of bannedWords(path, line)) {
      console.error(`${path}:${index + 1}: "${word}": write ${instead.get(word)}`);
      process.exitCode = 1;
    }
  }
}
