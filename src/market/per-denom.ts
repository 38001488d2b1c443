/** A price may be one for every denomination, or another in some: a number means little without saying of what. */
export interface PerDenom<T> {
  /** For every denomination that has none of its own. */
  readonly general: T | undefined;
  readonly own: ReadonlyMap<string, T>;
}

export function inDenom<T>({ general, own }: PerDenom<T>, denom: string): T | undefined {
  return own.get(denom) ?? general;
}

export function everyPrice<T>({ general, own }: PerDenom<T>): T[] {
  return [...(general === undefined ? [] : [general]), ...own.values()];
}
