/**
 * Runs after `npm ci`: has every file of the program stripped of its types and compiled once, so that the first start is
 * as quick and small as the later ones (src/cli/start.js). JavaScript, because any Node may run it, and it never fails.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// To describe its commands the program loads them all.
const program = fileURLToPath(new URL("../src/cli/start.js", import.meta.url));
spawnSync(process.execPath, [program, "--help"], { stdio: "ignore" });
