import { readWhole, type Tree } from "./tree.ts";

const meminfo = "/proc/meminfo";

/** What the kernel has to give away; zero where it does not say. */
export async function readMemoryBytes(tree: Tree): Promise<number> {
  const line = /^MemTotal:\s*(\d+) kB$/m.exec((await tree.text(meminfo)) ?? "");
  const bytes = readWhole(line?.[1] ?? "");
  if (bytes === undefined) tree.report(`${meminfo}: it does not tell MemTotal`);
  return (bytes ?? 0) * 1024;
}

/** In bytes, the ordinary 4 KiB pages first. */
export async function readPageSizes(tree: Tree): Promise<number[]> {
  const huge = (await tree.names("/sys/kernel/mm/hugepages")).flatMap(
    (name) => readWhole(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? "") ?? [],
  );
  return [4, ...huge].map((kilobytes) => kilobytes * 1024);
}
