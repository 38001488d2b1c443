/** `operator inventory discover` as the operator's pods run it, without settings and commands (start.js). */
import { createLog } from "../runtime/log.ts";
import { runDiscovery } from "./discovery.ts";
import { endWith } from "./fail.ts";

const [port = "", root = ""] = process.argv.slice(5).map((flag) => flag.slice(flag.indexOf("=") + 1));
process.on("uncaughtException", (thrown) => endWith(thrown));
await runDiscovery({ root, port: Number(port), log: createLog({ timestamp: "rfc3339" }) }).catch((thrown: unknown) =>
  endWith(thrown),
);
