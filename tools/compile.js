/**
 * Runs after `npm ci`: has every file of the program stripped of its types and compiled once, so that the first start is
 * as quick and small as the later ones (src/cli/start.js). JavaScript, because any Node may run it, and it never fails.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/akash-provider", import.meta.url));
// To describe its commands the program loads them all. What is compiled is found again only with the same options of V8 (but
// for sizes), so `npm start` has those of bin/akash-provider. What a discovery pod loads is compiled with others, so it
// is kept apart; on a port that no machine has, it ends as soon as it has loaded.
for (const args of [["--help"], ["operator", "inventory", "discover", "--api-port=65536", "--root=/"]]) {
  spawnSync(program, args, { stdio: "ignore" });
}
