/** Node as bin/akash-provider runs it, and with `gc`, for honest readings of memory. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const program = readFileSync(join(import.meta.dirname, "../bin/akash-provider"), "utf8");
const [, flags = ""] = /^exec "\$node" (.+?) "/m.exec(program) ?? [];

export const nodeFlags = ["--expose-gc", ...flags.split(" ")];
