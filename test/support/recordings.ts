/** What was recorded from the network's programs and a real machine: recordings/README.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { untar } from "../../tools/image/tar.ts";

const folder = join(import.meta.dirname, "../recordings");
/** By name. Each is read once per process. */
const archives = new Map<string, ReadonlyMap<string, Buffer>>();

/** `path` starts with the name of an archive: "objects/web/sdl.yaml". */
export function readRecording(path: string): Buffer {
  const content = filesBeside(path).get(path);
  assert.ok(content, `${path} was not recorded`);
  return content;
}

export function readJsonRecording<T>(path: string): T {
  return JSON.parse(readRecording(path).toString()) as T;
}

/** The paths of all files in a folder and those below it. */
export function listRecordings(path: string): string[] {
  return [...filesBeside(path).keys()].filter((each) => each.startsWith(`${path}/`));
}

function filesBeside(path: string): ReadonlyMap<string, Buffer> {
  const [name = ""] = path.split("/", 1);
  let files = archives.get(name);
  if (!files) {
    const archive = gunzipSync(readFileSync(join(folder, `${name}.tar.gz`)));
    const entries = [...untar(archive)].map(({ path: at, content }) => [at, content] as const);
    files = new Map(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
    archives.set(name, files);
  }
  return files;
}
