/** Math.max and Math.min for bigints: heights, times and amounts. At least one value is needed. */
export function largest(...values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (a > b ? a : b));
}

export function smallest(...values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (a < b ? a : b));
}
