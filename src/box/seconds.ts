/** "59 s", "1 m 1 s", "2 h 2 m": as much as a person wants to know. */
export function seconds(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1_000));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} m`;
}
