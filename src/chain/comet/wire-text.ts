/** Numbers and times as CometBFT writes them into JSON: both as text. What is neither is a TypeError that says so. */
const mostInt64 = 2n ** 63n - 1n;

export function readHeight(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,19}$/.test(value)) throw new TypeError(`${shown(value)} is not a height`);
  const height = BigInt(value);
  if (height > mostInt64) throw new TypeError(`${value} is not a height`);
  return height;
}

export function readGas(value: unknown): bigint {
  if (typeof value !== "string" || !/^-?\d{1,19}$/.test(value)) throw new TypeError(`${shown(value)} is no gas`);
  return BigInt(value);
}

const timePattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z$/;

/** "2026-11-15T08:24:11.82854255Z" in nanoseconds since the epoch. */
export function readTimeNs(value: unknown): bigint {
  const parts = typeof value === "string" ? timePattern.exec(value) : null;
  if (!parts) throw new TypeError(`${shown(value)} is not a time`);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const seconds = ((daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
  return BigInt(seconds) * 1_000_000_000n + BigInt((parts[7] ?? "").padEnd(9, "0"));
}

/** Years that begin in March have their leap day at the end, where it shifts nothing. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const inMarchYear = month > 2 ? year : year - 1;
  const leapDays = Math.floor(inMarchYear / 4) - Math.floor(inMarchYear / 100) + Math.floor(inMarchYear / 400);
  const daysBeforeMonth = Math.floor((153 * ((month + 9) % 12) + 2) / 5);
  const dayOfEpoch = 719_468;
  return inMarchYear * 365 + leapDays + daysBeforeMonth + day - 1 - dayOfEpoch;
}

export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 80);
}
