/**
 * What the program begins with. JavaScript, because the part of Node that strips types takes 20 MB and most of a start,
 * and is not loaded at all when everything was stripped before: that is kept beside the packages, if it can be written.
 */
import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("../../node_modules/.cache/akash-provider", import.meta.url));
// Portable: what was stripped here is right wherever the whole tree is copied to, an image for instance.
enableCompileCache({ directory, portable: true });
// The command line that the inventory operator gives its discovery pods says all there is to say, if the environment is
// silent. On every node, settings and commands would take more memory than the work does.
const isDiscoveryPod =
  /^operator inventory discover --api-port=\d+ --root=\S+$/.test(process.argv.slice(2).join(" ")) &&
  !Object.keys(process.env).some((name) => /^(AP|AKASH)_/.test(name));
await import(isDiscoveryPod ? "./discovery-pod.ts" : "./main.ts");
