/** An image out of files: its description, whose hash is its id, and the archive that container runtimes load. */
import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Entry, tar } from "./tar.ts";

export interface Image {
  readonly name: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** By number, as Kubernetes wants it for `runAsNonRoot`; default: root. */
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Each is laid over those before it. */
  readonly layers: readonly (readonly Entry[])[];
}

export interface DescribedImage extends Image {
  /** JSON. */
  readonly description: string;
  /** The hash of the description, and so of all that is in the image. */
  readonly id: string;
}

/** Reads every file of it. */
export function describeImage(image: Image): DescribedImage {
  const { entrypoint, command, user, environment = { PATH: "/bin" } } = image;
  const description = JSON.stringify({
    architecture: { x64: "amd64", arm64: "arm64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config: {
      User: user,
      Entrypoint: entrypoint,
      Cmd: command,
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      WorkingDir: "/",
    },
    rootfs: { type: "layers", diff_ids: image.layers.map((entries) => digestOf(tar(entries))) },
    history: image.layers.map(() => ({ created_by: "akash-provider" })),
  });
  return { ...image, description, id: digestOf([Buffer.from(description)]) };
}

/** The archive of `docker save`, which Docker, Podman, containerd and skopeo read; its size in bytes. */
export function writeArchive(path: string, { name, layers, description }: DescribedImage): number {
  // An archive that was cut short must not look like a whole one.
  const folder = mkdtempSync(join(dirname(path), ".image-"));
  try {
    const files = layers.map((entries, index) => {
      const file = { path: `layer-${index}.tar`, from: join(folder, `layer-${index}.tar`) };
      writeAll(file.from, tar(entries));
      return file;
    });
    const contents = [{ Config: "config.json", RepoTags: [name], Layers: files.map((file) => file.path) }];
    const parts = [
      { path: "config.json", content: description },
      { path: "manifest.json", content: JSON.stringify(contents) },
    ];
    const bytes = writeAll(join(folder, "image.tar"), tar([...files, ...parts]));
    renameSync(join(folder, "image.tar"), path);
    return bytes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function digestOf(chunks: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

function writeAll(path: string, chunks: Iterable<Buffer>): number {
  const file = openSync(path, "w");
  let bytes = 0;
  try {
    for (const chunk of chunks) bytes += writeSync(file, chunk);
  } finally {
    closeSync(file);
  }
  return bytes;
}
