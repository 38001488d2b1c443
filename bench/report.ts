/** How a benchmark reports: a table for people and, last, one JSON line for machines. */
export type Row = Record<string, string | number | boolean>;

export function report(title: string, rows: Row[], line: { bench: string } & Row): void {
  console.log(`\n${title}`);
  console.table(rows);
  console.log(JSON.stringify(line));
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** Memory of this process in megabytes, after a collection where Node was told to offer one. */
export function rssMb(): number {
  globalThis.gc?.();
  return round(process.memoryUsage.rss() / 2 ** 20, 1);
}
