/** Makes an image out of files and gives it to containerd, when containerd does not have that very content yet. */
import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ctr } from "./containerd.ts";
import { places } from "./places.ts";
import { type Entry, tar } from "./tar.ts";

export interface Image {
  readonly name: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** Each is laid over those before it. */
  readonly layers: readonly (readonly Entry[])[];
}

/** What an imported image was made of is noted on the image itself, so that the note cannot outlive it. */
const contentLabel = "akash-provider-lab/content";

/** Whether it had to be imported. */
export function importImage(image: Image): boolean {
  const description = JSON.stringify(describe(image));
  const content = digestOf([Buffer.from(description)]);
  if (contentOf(image.name) === content) return false;
  const folder = mkdtempSync(join(places.state, "image-"));
  try {
    ctr("images", "import", writeArchive(folder, image, description));
  } finally {
    rmSync(folder, { recursive: true });
  }
  ctr("images", "label", image.name, `${contentLabel}=${content}`);
  return true;
}

/** The archive format of `docker save`: layers, a description of them, and a table of contents. */
function writeArchive(folder: string, image: Image, description: string): string {
  const layers = image.layers.map((entries, index) => {
    const path = `layer-${index}.tar`;
    writeAll(join(folder, path), tar(entries));
    return { path, from: join(folder, path) };
  });
  const contents = [{ Config: "config.json", RepoTags: [image.name], Layers: layers.map(({ path }) => path) }];
  const archive = join(folder, "image.tar");
  const parts = [
    { path: "config.json", content: description },
    { path: "manifest.json", content: JSON.stringify(contents) },
  ];
  writeAll(archive, tar([...layers, ...parts]));
  return archive;
}

function describe(image: Image): object {
  return {
    architecture: { x64: "amd64", arm64: "arm64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config: { Entrypoint: image.entrypoint, Cmd: image.command, Env: ["PATH=/bin"], WorkingDir: "/" },
    rootfs: { type: "layers", diff_ids: image.layers.map((entries) => digestOf(tar(entries))) },
    history: image.layers.map(() => ({ created_by: "lab" })),
  };
}

function contentOf(name: string): string | undefined {
  const row = ctr("images", "list", `name==${name}`);
  return new RegExp(`${contentLabel}=(\\S+?)[,\\s]`).exec(row)?.[1];
}

function digestOf(chunks: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

function writeAll(path: string, chunks: Iterable<Buffer>): void {
  const file = openSync(path, "w");
  try {
    for (const chunk of chunks) writeSync(file, chunk);
  } finally {
    closeSync(file);
  }
}
