/** Tables for a terminal. */

/** The first columns are words and stand to the left, the others are numbers and stand to the right. */
export function aligned(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  words = heading.length,
): string[] {
  const lines = [heading, ...rows];
  // There may be more rows than a function takes arguments.
  const widths = heading.map((_, at) => lines.reduce((most, line) => Math.max(most, line[at]?.length ?? 0), 0));
  const pad = (cell: string, at: number) =>
    at < words ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd());
}
