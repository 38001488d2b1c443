/**
 * A machine's /sys and /proc below a root folder, so that any machine can be played back. Nothing in it is trusted: what
 * cannot be read becomes a problem, and the rest of the machine is still told.
 */
import { lstat, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { systemCodeOf } from "../../../runtime/errors.ts";
import { FileTooLong, readBounded, readHead } from "../bounded-file.ts";

/** One file of /sys or /proc: the longest that we read, but for cpuinfo, are a few hundred bytes. */
export const discoveryFileBytes = 64 * 1024;
/** Entries of one folder, for instance one for each processor. */
export const discoveryEntries = 10_000;

/** A name that a device gives itself; they are a few words. */
export const discoveryNameChars = 128;
/** Parts of one kind: a machine has a few sockets and tens of cards, disks and ports, and a virtual one may show each processor as a socket. */
export const discoveryParts = 256;
/** A fault names a file and what is wrong with it. */
export const discoveryProblemChars = 512;
/** Faults that are told: a broken tree has one for each file, and the first ones say it all. */
export const discoveryProblems = 50;

export interface Tree {
  /** What a file says, without the white space around it. Undefined where it is not there, or has nothing to say. */
  text(path: string, mostBytes?: number): Promise<string | undefined>;
  /** The same as a name to show: one line of a few words. */
  name(path: string): Promise<string | undefined>;
  /** The same as a whole number that is not negative. */
  whole(path: string): Promise<number | undefined>;
  /** The first bytes of a file; fewer where it is shorter. */
  head(path: string, bytes: number): Promise<Buffer | undefined>;
  /** The names in a folder in their order, "cpu2" before "cpu10"; none where there is no such folder. */
  names(path: string): Promise<string[]>;
  /** Where a link leads, whether or not that is there. */
  link(path: string): Promise<string | undefined>;
  has(path: string): Promise<boolean>;
  report(problem: string): void;
  /** In their order, and not more than anybody reads. */
  problems(): string[];
}

/** The kernel's ways to say that this machine, device or driver has no such thing. */
const absent = new Set(["ENOENT", "ENOTDIR", "ENODEV", "ENXIO", "ENODATA", "EINVAL", "EOPNOTSUPP", "ENOTSUP"]);

const wording: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "it is a file, not a folder",
  EACCES: "we may not read it",
  EPERM: "we may not read it",
  EIO: "the device does not answer",
  ELOOP: "its links lead in a circle",
};

export function createTree(root: string): Tree {
  const problems = new Set<string>();

  async function attempt<T>(
    path: string,
    read: (full: string) => Promise<T>,
    faults: readonly string[] = [],
  ): Promise<T | undefined> {
    try {
      return await read(join(root, path));
    } catch (thrown) {
      if (thrown instanceof FileTooLong) {
        problems.add(`${path}: ${thrown.message}`);
        return undefined;
      }
      const code = systemCodeOf(thrown);
      if (code === undefined) throw thrown;
      if (!absent.has(code) || faults.includes(code)) problems.add(`${path}: ${wording[code] ?? code}`);
      return undefined;
    }
  }

  async function text(path: string, mostBytes: number = discoveryFileBytes): Promise<string | undefined> {
    const bytes = await attempt(path, (full) => readBounded(full, mostBytes));
    return bytes?.toString("utf8").trim() || undefined;
  }

  async function names(path: string): Promise<string[]> {
    const found: string[] = [];
    const read = async (full: string) => {
      for await (const { name } of await opendir(full)) {
        if (found.length === discoveryEntries) {
          problems.add(`${path}: only the first ${discoveryEntries} entries were looked at`);
          return;
        }
        found.push(name);
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
    async name(path) {
      const found = await text(path);
      return found && plainName(found);
    },
    async whole(path) {
      const found = await text(path);
      if (found === undefined) return undefined;
      const value = readWhole(found);
      if (value === undefined) problems.add(`${path}: it holds no whole number`);
      return value;
    },
    head: (path, bytes) => attempt(path, (full) => readHead(full, bytes)),
    link: (path) => attempt(path, (full) => readlink(full)),
    report: (problem) => void problems.add(problem),
    problems() {
      const inOrder = [...problems].sort(byNumber).map((each) => each.slice(0, discoveryProblemChars));
      const more = inOrder.length - discoveryProblems;
      return more > 0 ? [...inOrder.slice(0, discoveryProblems), `and ${more} more`] : inOrder;
    },
  };
}

/** "cpu2" before "cpu10". Intl has this, and with it 3 MB of the world's alphabets on every node. */
function byNumber(one: string, other: string): number {
  const [these, those] = [runsOf(one), runsOf(other)];
  const at = these.findIndex((run, index) => run !== those[index]);
  const [a = "", b = ""] = at < 0 ? [] : [these[at], those[at]];
  const difference = Number(a) - Number(b);
  if (a !== "" && b !== "" && difference) return difference;
  return a === b ? these.length - those.length : a < b ? -1 : 1;
}

/** "cpu10" is "cpu" and "10". */
function runsOf(name: string): readonly string[] {
  return name.match(/\d+|\D+/g) ?? [];
}

/** Digits only, and not so many that they would be rounded. */
export function readWhole(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** One line without control characters: it goes into labels, logs and terminals. */
export function plainName(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, discoveryNameChars).replace(/\p{C}/gu, "").trim();
}
