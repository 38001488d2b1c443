/** Which right name did a person mean by a wrong one? */

/** Edits (insert, delete, replace, swap of neighbours) that turn one word into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) least = Math.min(least, at(beforeLast, column - 2) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

/** The candidate closest to `word`, if it is close enough to be worth a suggestion: at most every third letter differs. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const plain = plainOf(word).slice(0, longestWord);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(plain, plainOf(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The same name as another, were it not for case, dashes and underscores: bidPriceCpuScale and bid-price-cpu-scale. */
export function isSameName(one: string, other: string): boolean {
  return plainOf(one) === plainOf(other);
}

/** No name is longer; comparing more would only cost time. */
const longestWord = 100;

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[-_.]/g, "");
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0;
}
