/** The images pods of the lab run: busybox and a command each, made here because there is no registry. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ctr } from "./containerd.ts";
import { needProgram } from "./machine.ts";
import { places } from "./places.ts";
import { type Entry, tar } from "./tar.ts";

/** A name that can never resolve: an image that was not imported fails at once instead of being asked for outside. */
const registry = "lab.invalid";

/** Holds a pod's namespaces open while its containers come and go. */
export const pauseImage = `${registry}/pause:1`;
/** Serves a page on port 8080; /cgi-bin/pod answers with the pod's name. */
export const webImage = `${registry}/web:1`;
/** Does nothing until it is told to stop; for `exec`. */
export const shellImage = `${registry}/shell:1`;
/** Prints a numbered line every INTERVAL_S seconds (1 if not set). */
export const logsImage = `${registry}/logs:1`;

interface Image {
  readonly name: string;
  readonly command: readonly string[];
  readonly files?: readonly Entry[];
}

/** The first process of a container gets no signal it has not asked for: without a trap each end would take the full grace. */
const serve = "trap 'exit 0' TERM INT; httpd -f -p 8080 -h /www & wait $!";
const waitForever = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
const printLines = `trap 'exit 0' TERM INT; n=0
while :; do n=$((n+1)); echo "line $n"; sleep "\${INTERVAL_S:-1}" & wait $!; done`;

const images: readonly Image[] = [
  { name: pauseImage, command: ["/bin/sleep", "2147483647"] },
  {
    name: webImage,
    command: ["/bin/sh", "-c", serve],
    files: [
      { path: "www/", folder: true },
      { path: "www/index.html", content: "hello from the lab\n" },
      { path: "www/cgi-bin/", folder: true },
      {
        path: "www/cgi-bin/pod",
        mode: 0o755,
        content: "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nhostname\n",
      },
    ],
  },
  { name: shellImage, command: ["/bin/sh", "-c", waitForever] },
  { name: logsImage, command: ["/bin/sh", "-c", printLines] },
];

/** Gives containerd every image it lacks, and tells the names of all. */
export function importImages(): string[] {
  const present = ctr("images", "list", "--quiet").split("\n");
  const base = busybox();
  for (const image of images) {
    if (present.includes(image.name)) continue;
    const file = join(places.state, "image.tar");
    writeFileSync(file, archive(image, base));
    ctr("images", "import", file);
    rmSync(file);
  }
  return images.map((image) => image.name);
}

/** A root folder with busybox under every name it answers to. */
function busybox(): Entry[] {
  const program = needProgram("busybox");
  const applets = execFileSync(program, ["--list"], { encoding: "utf8" }).split("\n").filter(Boolean);
  return [
    ...["bin/", "etc/", "home/", "root/", "var/"].map((path) => ({ path, folder: true })),
    { path: "tmp/", folder: true, mode: 0o1777 },
    { path: "etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n" },
    { path: "etc/group", content: "root:x:0:\nnobody:x:65534:\n" },
    { path: "bin/busybox", mode: 0o755, content: readFileSync(program) },
    ...applets.filter((name) => name !== "busybox").map((name) => ({ path: `bin/${name}`, link: "busybox" })),
  ];
}

/** The archive format of `docker save`: a layer, a description of it, and a table of contents. */
function archive(image: Image, base: readonly Entry[]): Buffer {
  const layer = tar([...base, ...(image.files ?? [])]);
  const description = {
    architecture: { x64: "amd64", arm64: "arm64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config: { Cmd: image.command, Env: ["PATH=/bin"], WorkingDir: "/" },
    rootfs: { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(layer).digest("hex")}`] },
    history: [{ created_by: "lab" }],
  };
  const contents = [{ Config: "config.json", RepoTags: [image.name], Layers: ["layer.tar"] }];
  return tar([
    { path: "layer.tar", content: layer },
    { path: "config.json", content: JSON.stringify(description) },
    { path: "manifest.json", content: JSON.stringify(contents) },
  ]);
}
