/** Finds words that a Kubernetes, Cosmos, Go or Node engineer would have to look up, in identifiers, comments, texts and docs. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** What to write instead; a word at the end of a list of forms stands for all of them. */
const preferred: Readonly<Record<string, string>> = {
  "told tell tells telling": "report, notify, return",
  "asked asks asking askings": "request, query, look up",
  "whoever somebody nobody anybody": "the caller, the client, no one",
  "he him his": "the tenant, the operator, its",
  "stranger strangers": "unauthenticated client",
  "unwell sick": "unhealthy",
  "picture pictures": "snapshot",
  "trouble troubles": "error, reason",
  "card cards": "GPU",
  "refuse refuses refused refusal refusals refusing": "reject",
  "walls purse deed deeds sighting sightings misfit misfits":
    "isolation objects, wallet guard, event, placement failure",
  "housing foundation patience letter bell": "service runner, deps, deadline, message, signal",
  vain: "failed",
};
const instead = new Map(
  Object.entries(preferred).flatMap(([words, text]) => words.split(" ").map((word) => [word, text])),
);

/** Words on the wire, in columns of the journal or of the field itself: path, and text to ignore. */
const exempt: readonly (readonly [RegExp, RegExp])[] = [
  [/./, /AKP_\w+|\w*_\w+|connection refused|REFUSED|"not asked"|"[^" ]*"|`[^` ]*`/g],
  [/polic|judgement/, /\brefuse\b/g],
  [/bid-status|bidengine-service|inventory-service|decide\.ts/, /\b(trouble|cards)\b/g],
  [/hostname|operators\/ip/, /\b[Rr]efused\b/g],
  [/^src\/journal\/(manifests|migrations|tables)/, /refusal|isRefused|told INTEGER|Nobody/g],
  [/^src\/gateway\/rest\/openapi/, /Refusal/g],
  [
    /cluster|lease|manifest/,
    /\b(troubles|hostTroubles|unwell|trouble(?=[,;]| =)|refusal|refused(?=: |; | to apply)|isRefused|cards(?=: gpu))\b/g,
  ],
  [/^tools\/words\.ts$/, /.*/g],
  [/^test\/lab\//, /\brefused\b/g],
  [/^tools\/image\/base-layer\.ts$/, /^nobody:.*/g],
];

/** Words of one line, with identifiers cut at their capitals. */
export function bannedWords(path: string, line: string): string[] {
  const counted = exempt.reduce(
    (text, [paths, pattern]) => (paths.test(path) ? text.replace(pattern, "") : text),
    line,
  );
  const words =
    counted
      .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  return words.filter((word) => instead.has(word));
}

if (import.meta.main) {
  const folders = ["src", "test", "bench", "tools", "lab", "docs", "*.md"];
  const listed = execFileSync("git", ["ls-files", ...folders], { cwd: root, encoding: "utf8" }).split("\n");
  const paths = listed.filter((path) => /\.(ts|md)$/.test(path) && !/^test\/recordings\/|akash-proto/.test(path));
  for (const path of paths) {
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .forEach((line, index) => {
        for (const word of bannedWords(path, line)) {
          console.error(`${path}:${index + 1}: "${word}": write ${instead.get(word)}`);
          process.exitCode = 1;
        }
      });
  }
}
