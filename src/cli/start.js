/**
 * What the program begins with. JavaScript, because the part of Node that strips types takes 20 MB and most of a start,
 * and is not loaded at all when everything was stripped before: that is kept beside the packages, if it can be written.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/akash-provider", import.meta.url)));
await import("./main.ts");
