/** A machine's /sys and /proc below a root, so that any machine can be replayed. What is unreadable is a problem. */

import { constants } from "node:fs";
import { lstat, open, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "../../../runtime/errors.ts";

/** All that we read but cpuinfo have a few hundred bytes. */
export const discoveryFileBytes = 64 * 1024;
/** Entries of one folder, for instance one per processor. */
export const discoveryEntries = 10_000;

export const discoveryNameChars = 128;
/** Of one kind; a virtual machine may present each processor as a socket. */
export const discoveryParts = 256;
export const discoveryProblemChars = 512;
export const discoveryProblems = 50;

export type Tree = ReturnType<typeof createTree>;

/** The machine, device or driver has no such thing. */
const absent = new Set(["ENOENT", "ENOTDIR", "ENODEV", "ENXIO", "ENODATA", "EINVAL", "EOPNOTSUPP", "ENOTSUP"]);

const wording: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "it is a file, not a folder",
  EACCES: "we may not read it",
  EPERM: "we may not read it",
  EIO: "the device does not respond",
  ELOOP: "its links form a loop",
};

export function createTree(root: string) {
  const problems = new Set<string>();

  async function attempt<T>(
    path: string,
    read: (full: string) => Promise<T>,
    faults: readonly string[] = [],
  ): Promise<T | undefined> {
    try {
      return await read(join(root, path));
    } catch (thrown) {
      const code = thrown instanceof FileTooLong ? thrown.message : systemCodeOf(thrown);
      if (code === undefined) throw thrown;
      if (!absent.has(code) || faults.includes(code)) problems.add(`${path}: ${wording[code] ?? code}`);
      return undefined;
    }
  }

  /** Trimmed; undefined where there is no such file, or it is empty. */
  async function text(path: string, mostBytes: number = discoveryFileBytes): Promise<string | undefined> {
    const bytes = await attempt(path, (full) => readBoundedFile(full, mostBytes));
    return bytes?.toString("utf8").trim() || undefined;
  }

  /** In natural order: "cpu2" before "cpu10"; none where there is no such folder. */
  async function names(path: string): Promise<string[]> {
    const found: string[] = [];
    const read = async (full: string) => {
      for await (const { name } of await opendir(full)) {
        if (found.length < discoveryEntries) found.push(name);
        else return void problems.add(`${path}: only the first ${discoveryEntries} entries were read`);
      }
    };
    await attempt(path, read, ["ENOTDIR"]);
    return found.sort(byNumber);
  }

  async function has(path: string): Promise<boolean> {
    return (await attempt(path, (full) => lstat(full))) !== undefined;
  }

  return {
    text,
    names,
    has,
    async name(path: string): Promise<string | undefined> {
      const found = await text(path);
      return found && plainName(found);
    },
    async whole(path: string): Promise<number | undefined> {
      const found = await text(path);
      if (found === undefined) return undefined;
      const value = readWhole(found);
      if (value === undefined) problems.add(`${path}: it has no integer`);
      return value;
    },
    head: (path: string, bytes: number) => attempt(path, (full) => readFileHead(full, bytes)),
    link: (path: string) => attempt(path, (full) => readlink(full)),
    report: (problem: string) => void problems.add(problem),
    problems(): string[] {
      const inOrder = [...problems].sort(byNumber).map((each) => each.slice(0, discoveryProblemChars));
      const more = inOrder.length - discoveryProblems;
      return more > 0 ? [...inOrder.slice(0, discoveryProblems), `and ${more} more`] : inOrder;
    },
  };
}

/** Natural order; Intl.Collator would load 3 MB on every node. */
function byNumber(one: string, other: string): number {
  const [these, those] = [runsOf(one), runsOf(other)];
  const at = these.findIndex((run, index) => run !== those[index]);
  const [a = "", b = ""] = at < 0 ? [] : [these[at], those[at]];
  const difference = Number(a) - Number(b);
  if (a !== "" && b !== "" && difference) return difference;
  return a === b ? these.length - those.length : a < b ? -1 : 1;
}

function runsOf(name: string): readonly string[] {
  return name.match(/\d+|\D+/g) ?? [];
}

export function readWhole(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** One line without control characters, for labels, logs and terminals. */
export function plainName(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, discoveryNameChars).replace(/\p{C}/gu, "").trim();
}

class FileTooLong extends Error {
  constructor(mostBytes: number) {
    super(`it is longer than ${mostBytes} bytes`);
  }
}

/** Files of /sys and /proc report no size. */
const firstBytes = 4_096;

export async function readBoundedFile(path: string, mostBytes: number): Promise<Buffer> {
  // A pipe without a writer would else block one of Node's few threads.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let buffer = Buffer.alloc(Math.min(firstBytes, mostBytes + 1));
  for (let length = 0; ; ) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > mostBytes) throw new FileTooLong(mostBytes);
    if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * length, mostBytes + 1));
  }
}

async function readFileHead(path: string, bytes: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, null);
  return buffer.subarray(0, bytesRead);
}
