/** Works on many things, a few at a time. After a failure nothing more is begun, and all has ended when it is thrown. */
export async function inParallel<T, R>(items: Iterable<T>, width: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const left = [...items].entries();
  async function worker(): Promise<void> {
    for (const [index, item] of left) {
      try {
        results[index] = await work(item);
      } catch (thrown) {
        failures.push(thrown);
      }
      if (failures.length > 0) return;
    }
  }
  await Promise.all(Array.from({ length: width }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
