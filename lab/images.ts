/** The images that pods of the lab run, made here because there is no registry. */
import { execFileSync } from "node:child_process";
import { basename, dirname } from "node:path";
import type { Image } from "../tools/image/image.ts";
import { providerImage as ourImage } from "../tools/image/provider-image.ts";
import type { Entry } from "../tools/image/tar.ts";
import { binaryOf } from "./build.ts";
import { importImage } from "./import-image.ts";
import { needProgram } from "./machine.ts";
import type { ProgramName } from "./programs.ts";
import { say } from "./say.ts";

/** A name that can never resolve: an image that was not imported fails at once instead of being pulled from outside. */
const registry = "lab.invalid";

/** Holds a pod's namespaces open while its containers come and go. */
export const pauseImage = `${registry}/pause:1`;
/** Serves a page on port 8080; /cgi-bin/pod answers with the pod's name. */
export const webImage = `${registry}/web:1`;
/** Does nothing until SIGTERM; for `exec`. */
export const shellImage = `${registry}/shell:1`;
/** Prints a numbered line every INTERVAL_S seconds (1 if not set). */
export const logsImage = `${registry}/logs:1`;
/** The image of `npm run image`: `akash-provider` with the pod's arguments. */
export const providerImage = `${registry}/akash-provider:1`;

/** Holds one of the lab's programs and nothing else. The tag is its content, so that other content means other pods. */
export function programImage(name: ProgramName): string {
  return `${registry}/${name}:${basename(dirname(binaryOf(name)))}`;
}

/** PID 1 of a container gets only signals that it handles: without a trap each stop takes the full grace period. */
const serve = "trap 'exit 0' TERM INT; httpd -f -p 8080 -h /www & wait $!";
const waitForever = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
const printLines = `trap 'exit 0' TERM INT; n=0
while :; do n=$((n+1)); echo "line $n"; sleep "\${INTERVAL_S:-1}" & wait $!; done`;

const page: readonly Entry[] = [
  { path: "www/", folder: true },
  { path: "www/index.html", content: "hello from the lab\n" },
  { path: "www/cgi-bin/", folder: true },
  { path: "www/cgi-bin/pod", mode: 0o755, content: "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nhostname\n" },
];

/** Imports every image that containerd lacks or has with other content; returns the names of all and of the imported ones. */
export function importImages(): { all: string[]; imported: string[] } {
  const images = labImages();
  const imported = images.filter(importImage);
  return { all: images.map(({ name }) => name), imported: imported.map(({ name }) => name) };
}

function labImages(): Image[] {
  const base = busybox();
  return [
    { name: pauseImage, command: ["/bin/sleep", "2147483647"], layers: [base] },
    { name: webImage, command: ["/bin/sh", "-c", serve], layers: [base, page] },
    { name: shellImage, command: ["/bin/sh", "-c", waitForever], layers: [base] },
    { name: logsImage, command: ["/bin/sh", "-c", printLines], layers: [base] },
    ...podPrograms.map((name) => ({ name: programImage(name), entrypoint: [`/${name}`], layers: [program(name)] })),
    // With the Debian packages of the last time: what runs in the lab should not change by the day.
    ourImage({ name: providerImage, refresh: false, say }),
  ];
}

/** Programs that run as pods. */
const podPrograms: readonly ProgramName[] = ["coredns", "local-path-provisioner", "metrics-server", "traefik"];

function program(name: ProgramName): Entry[] {
  return [
    { path: "tmp/", folder: true, mode: 0o1777 },
    { path: name, mode: 0o755, from: binaryOf(name) },
  ];
}

/** A root folder with busybox under every name it answers to. */
export function busybox(): Entry[] {
  const path = needProgram("busybox");
  const applets = execFileSync(path, ["--list"], { encoding: "utf8" }).split("\n").filter(Boolean);
  return [
    ...["bin/", "etc/", "home/", "root/", "var/"].map((folder) => ({ path: folder, folder: true })),
    { path: "tmp/", folder: true, mode: 0o1777 },
    { path: "etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n" },
    { path: "etc/group", content: "root:x:0:\nnobody:x:65534:\n" },
    { path: "bin/busybox", mode: 0o755, from: path },
    ...applets.filter((name) => name !== "busybox").map((name) => ({ path: `bin/${name}`, link: "busybox" })),
  ];
}
