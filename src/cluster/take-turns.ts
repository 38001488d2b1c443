/** The first of each, then the second of each: where only so many are told, one with many hides nobody else's. */
export function takeTurns<T>(all: readonly T[], whose: (each: T) => string): T[] {
  const turns = new Map<string, number>();
  const numbered = all.map((each) => {
    const turn = turns.get(whose(each)) ?? 0;
    turns.set(whose(each), turn + 1);
    return { each, turn };
  });
  return numbered.sort((a, b) => a.turn - b.turn).map(({ each }) => each);
}
