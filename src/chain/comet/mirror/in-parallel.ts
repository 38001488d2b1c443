/** Works on many things, a few at a time. The first failure ends it. */
export async function inParallel<T, R>(items: Iterable<T>, width: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = [...items].entries();
  async function worker(): Promise<void> {
    for (const [index, item] of left) results[index] = await work(item);
  }
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
